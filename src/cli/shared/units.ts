/** `2023-11-14 22:13:20`, in UTC. */
export function formatTime(unixMs: number): string {
  return new Date(unixMs).toISOString().slice(0, 19).replace('T', ' ')
}

export function formatSeconds(seconds: number): string {
  if (seconds < 120) return `${Math.ceil(seconds)} s`
  if (seconds < 7_200) return `${Math.ceil(seconds / 60)} min`
  return `${Math.ceil(seconds / 3_600)} h`
}
