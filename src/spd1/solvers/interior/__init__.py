"""The interior-point method: what small problems without curvature are finished by."""
