// Loaded before a program (`--import`). Sets its clock two minutes ahead of the machine's.
const AHEAD_MS = 120_000
const { now } = Date

Date.now = () => now() + AHEAD_MS
