"""Pictures of domain objects: pure functions from values to text or rich renderables. Nothing here prints."""
