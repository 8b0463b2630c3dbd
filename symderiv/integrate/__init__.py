"""The equations of a study integrated: time steppers, flows, phases of rules, many runs."""
