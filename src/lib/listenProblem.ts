const PROBLEMS = {
  EADDRINUSE: 'the port is in use by another program',
  EACCES: 'permission denied',
  EADDRNOTAVAIL: 'no such address on this machine',
} as const

/**
 * The reason why a program cannot listen on a port, found by the error code in the text; undefined for other errors.
 */
export function listenProblem(text: string): string | undefined {
  return Object.entries(PROBLEMS).find(([code]) => text.includes(code))?.[1]
}
