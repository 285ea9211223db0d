import diagnosticsChannel from 'node:diagnostics_channel'
import { writeFile } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Milliseconds on the clock that all processes of the machine share. */
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6

export interface Usage {
  cpuMs: number
  sentBytes: number
}

/** Processor time of this process, and bytes of the sockets opened from now on. */
export function measureUsage(): () => Usage {
  const sockets = new Set<Socket>()
  const add = (message: unknown): void => {
    sockets.add((message as { socket: Socket }).socket)
  }
  diagnosticsChannel.subscribe('net.client.socket', add)
  diagnosticsChannel.subscribe('net.server.socket', add)
  return () => {
    const { user, system } = process.cpuUsage()
    let sentBytes = 0
    for (const socket of sockets) sentBytes += socket.bytesWritten
    return { cpuMs: (user + system) / 1000, sentBytes }
  }
}

/** Interval of the delay measurement. */
const TIMER_MS = 10

/** The returned function gives the 99th percentile of the timer's delay, in milliseconds. */
export function measureLoopDelay(): () => number {
  const delay = monitorEventLoopDelay({ resolution: TIMER_MS })
  delay.enable()
  return () => {
    delay.disable()
    return Math.max(0, delay.percentile(99) / 1e6 - TIMER_MS)
  }
}

/** Megabytes after a garbage collection. */
export function heapMb(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / 1e6
}

/** Profiles this process until the returned function is called. That function writes a .cpuprofile into the folder. */
export async function startProfile(folder: string): Promise<() => Promise<void>> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.start')
  return async () => {
    const { profile } = await session.post('Profiler.stop')
    session.disconnect()
    await writeFile(join(folder, `hosts-${process.pid}.cpuprofile`), JSON.stringify(profile))
  }
}
