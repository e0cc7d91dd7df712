"""The steps of the chain, each readable alone; the task of the report is in the room `report`."""
