"""What PyTorch's torchgen would make of an operator: schemas, C++ signatures, names. Pure rules, no files."""
