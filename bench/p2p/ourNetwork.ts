import { setTimeout as delay } from 'node:timers/promises'
import { median, quantile } from '../figures.ts'
import { type Child, startChild } from './calls.ts'
import type { Figures } from './figures.ts'
import type { HostsCalls } from './hostsProcess.ts'

export interface NetworkOptions {
  hosts: number
  processes: number
  size: number
  blocks: number
  warmup: number
  intervalMs: number
  dial: number
  waitMs: number
  idontwant: boolean
  /** Folder for CPU profiles. */
  profile: string | undefined
}

/** The run ends after this time without an arrival. On a preempted virtual machine the last block may come late. */
const NO_ARRIVAL_MS = 2_000

/** One round of our network, as the rival runs its own. Each host dials some earlier ones, and the first publishes. */
export async function runOurNetwork(options: NetworkOptions): Promise<Figures> {
  return withNetwork(options, async (children) => {
    await publisherOf(children).call('publish', { ...options, blocks: options.warmup })
    await allArrived(children)
    const before = await Promise.all(children.map((child) => child.call('measure', options)))
    const published = await publisherOf(children).call('publish', options)
    await allArrived(children)
    const after = await Promise.all(children.map((child) => child.call('result')))

    const { hosts, blocks } = options
    const sum = (pick: (index: number) => number): number =>
      children.reduce((total, _, index) => total + pick(index), 0)
    const signedMs = new Map(published.map((block) => [block.blockNumber, block.signedMs]))
    const delays = after
      .flatMap(({ arrivals }) => arrivals)
      .map(([block, at]) => at - (signedMs.get(block) ?? Number.NaN))
      .filter((delayMs) => !Number.isNaN(delayMs))
    const judged = sum((index) => after[index]?.judged ?? 0)
    const expected = blocks * (hosts - 1)
    return {
      p50: quantile(delays, 0.5),
      p90: quantile(delays, 0.9),
      p99: quantile(delays, 0.99),
      max: quantile(delays, 1),
      sign: median(published.map((block) => block.signedMs - block.calledMs)),
      missed: expected - delays.length,
      cpuPerBlock: sum((index) => (after[index]?.cpuMs ?? 0) - (before[index]?.cpuMs ?? 0)) / blocks,
      bytesPerBlockAndHost:
        sum((index) => (after[index]?.sentBytes ?? 0) - (before[index]?.sentBytes ?? 0)) / blocks / hosts,
      copies: (judged + sum((index) => after[index]?.copies ?? 0)) / expected,
      duplicates: judged - delays.length,
      loopDelayP99: Math.max(...after.map((result) => result.loopDelayP99)),
      heapMbPerHost: sum((index) => after[index]?.heapMb ?? 0) / hosts,
    }
  })
}

/** Megabytes of heap for each host, after each tenth of the blocks and after all caches have expired. */
export async function runHeap(options: NetworkOptions, forgetMs: number): Promise<number[]> {
  return withNetwork(options, async (children) => {
    const heaps: number[] = []
    const measure = async (): Promise<void> => {
      const all = await Promise.all(children.map((child) => child.call('heap')))
      heaps.push(all.reduce((total, mb) => total + mb, 0) / options.hosts)
    }
    await measure()
    for (let tenth = 0; tenth < 10; tenth++) {
      await publisherOf(children).call('publish', { ...options, blocks: Math.round(options.blocks / 10) })
      await measure()
    }
    await delay(forgetMs)
    await measure()
    return heaps
  })
}

async function allArrived(children: readonly Child<HostsCalls>[]): Promise<void> {
  for (let before = -1; ; ) {
    const arrived = (await Promise.all(children.map((child) => child.call('arrived')))).reduce(
      (sum, count) => sum + count,
      0,
    )
    if (arrived === before) return
    before = arrived
    await delay(NO_ARRIVAL_MS)
  }
}

function publisherOf(children: readonly Child<HostsCalls>[]): Child<HostsCalls> {
  const [first] = children
  if (first === undefined) throw new Error('no process')
  return first
}

async function withNetwork<T>(
  options: NetworkOptions,
  use: (children: readonly Child<HostsCalls>[]) => Promise<T>,
): Promise<T> {
  const { hosts, processes } = options
  const children = Array.from({ length: Math.min(processes, hosts) }, () =>
    startChild<HostsCalls>(new URL('./hostsProcess.ts', import.meta.url)),
  )
  try {
    const opened = await Promise.all(
      children.map((child, index) =>
        child.call('open', {
          hosts: Math.ceil((hosts - index) / children.length),
          idontwant: options.idontwant,
        }),
      ),
    )
    // Host i has the index ⌊i / processes⌋ in its process.
    for (let host = 1; host < hosts; host++) {
      const earlier = pickEarlier(host, options.dial)
      const addresses = earlier.map(
        (other) => opened[other % children.length]?.[Math.floor(other / children.length)] ?? '',
      )
      await children[host % children.length]?.call('connect', { host: Math.floor(host / children.length), addresses })
    }
    await delay(options.waitMs)
    return await use(children)
  } finally {
    await Promise.all(children.map((child) => child.stop()))
  }
}

/** As the rival picks: at random, possibly the same host twice. */
function pickEarlier(host: number, count: number): number[] {
  const picked = Array.from({ length: Math.min(count, host) }, () => Math.floor(Math.random() * host))
  return [...new Set(picked)]
}
