// SPDX-License-Identifier: MIT
#pragma once

#include "stand_in.h"
