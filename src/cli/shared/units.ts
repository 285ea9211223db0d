/** Two decimals, or two digits where that would be nothing. */
export function formatNumber(value: number): string {
  const rounded = Math.round(value * 100) / 100
  if (rounded !== 0 || value === 0) return String(rounded)
  return Math.abs(value) < 1e-6 ? '0' : String(Number(value.toPrecision(2)))
}

/** `2023-11-14 22:13:20`, in UTC. */
export function formatTime(unixMs: number): string {
  return new Date(unixMs).toISOString().slice(0, 19).replace('T', ' ')
}

export function formatSeconds(seconds: number): string {
  if (seconds < 120) return `${Math.ceil(seconds)} s`
  if (seconds < 7_200) return `${Math.ceil(seconds / 60)} min`
  return `${Math.ceil(seconds / 3_600)} h`
}
