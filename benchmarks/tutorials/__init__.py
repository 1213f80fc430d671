"""The Hopper tutorials of Meta's TLX: our compiler against theirs, on the same source."""
