const PROBLEMS = {
  EADDRINUSE: 'the port is in use by another program',
  EACCES: 'permission denied',
  EADDRNOTAVAIL: 'no such address on this machine',
} as const

/** In plain words why a port could not be listened on, by the error code in the text; undefined for others. */
export function listenProblem(text: string): string | undefined {
  return Object.entries(PROBLEMS).find(([code]) => text.includes(code))?.[1]
}
