// SPDX-License-Identifier: MIT
// Has nothing of its own: the target that the precompiled header of the tests belongs to needs a source.
