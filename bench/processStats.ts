import { readFileSync } from 'node:fs'

// What Linux counts of other processes.

/** A file of the process below `/proc`. Empty if the process has ended. */
export function procFile(pid: number | string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}

/** User and system time of all threads. NaN if the process has ended. */
export function processorSeconds(pid: number): number {
  // proc(5): fields 14 and 15, in hundredths of a second. Field 2 is a name in brackets.
  const fields = procFile(pid, 'stat').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** The sum of these lines of `status` or `smaps_rollup`. 0 if the process has ended. */
export function memoryMb(pid: number | string, file: 'status' | 'smaps_rollup', ...lines: string[]): number {
  const text = procFile(pid, file)
  const kilobytes = lines.map((line) => Number(new RegExp(`^${line}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0))
  return kilobytes.reduce((total, size) => total + size, 0) / 1024
}
