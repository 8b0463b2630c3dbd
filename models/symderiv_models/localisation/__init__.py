"""Networks that are taught two classes of translation-invariant inputs, and what localises in them.

Sites stand on a ring; inputs of label 1 vary over longer distances than those of label 0. The rooms
below give Gaussian means; here they become the flow of receptive fields.
"""
