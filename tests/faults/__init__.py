"""Faults of machines: changed bytes, kills, full disks, read-only folders, rivals."""
