# SPDX-License-Identifier: MIT
"""Real sets of the benchmarks: reading them, and text as numbers."""

import pandas as pd
from sklearn.preprocessing import OrdinalEncoder

# file, separator, label, which labels are positive, the two precision bounds of the tables
SETS = {
    "adult": ("adult/adult.csv.xz", ",", "income", lambda y: y.astype(str).str.contains(">50K"), [0.8, 0.9]),
    "bank": ("bank_marketing/bank-additional-full.csv.xz", ";", "y", lambda y: y == "yes", [0.5, 0.6]),
    "heart": ("heart_brfss2020/heart_2020_cleaned.csv.xz", ",", "HeartDisease", lambda y: y == "Yes", [0.4, 0.5]),
    "diabetes": (
        "diabetes_brfss2015/diabetes_binary_health_indicators_BRFSS2015.csv.xz", ",", "Diabetes_binary", lambda y: y == 1,
        [0.5, 0.6],
    ),
    "covid": ("covid_mexico/covid_data.csv.xz", ",", "DATE_DIED", lambda y: y != "9999-99-99", [0.5, 0.6]),
}  # fmt: skip
KNOWN_LATER = ["duration", "INTUBED", "ICU", "PATIENT_TYPE"]
FEW_VALUES = 12


def load(folder, name):
    path, separator, label, is_positive, _ = SETS[name]
    rows = pd.read_csv(folder / path, sep=separator).drop(columns=KNOWN_LATER, errors="ignore")
    return rows, is_positive(rows.pop(label)).to_numpy().astype(int)


def as_numbers(rows):
    """Text as the codes of its values; and which columns were text."""
    text = [column for column in rows if not pd.api.types.is_numeric_dtype(rows[column])]
    codes = rows.copy()
    if text:
        codes[text] = OrdinalEncoder().fit_transform(rows[text].astype(str))
    return codes, text


def few_and_many(codes, text):
    """Columns, by place, to encode as categories, and those to scale."""
    few = [at for at, name in enumerate(codes) if name in text or codes[name].nunique() <= FEW_VALUES]
    return few, [at for at in range(codes.shape[1]) if at not in few]
