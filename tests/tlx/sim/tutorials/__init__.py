"""Meta's TLX tutorials, unmodified, in the simulator. They come with its wheel; FBTRITON says where that is."""
