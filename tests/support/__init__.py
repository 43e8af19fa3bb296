"""What tests share: an oracle, awkward cases, plain transcriptions, a user's loss."""
