"""Tensor checks of theory ksvd: singular triplets of the softmax matrix, explicit features. May import
``core``.
"""
