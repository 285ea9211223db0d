import { type ChildProcess, fork } from 'node:child_process'
import { cpus } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../../src/lib/testUtils/until.ts'
import { SEQUENCER_KEY, testBlock, testConfig } from '../../src/p2p/testUtils/testChain.ts'
import { startTestNode } from '../../src/p2p/testUtils/testNode.ts'
import type { P2pNode } from '../../src/p2p/types.ts'
import { nowMs } from '../p2p/measures.ts'
import type { FromVictim, ToVictim, VictimReport } from './victim.ts'

/** Blocks come 5 to 15 ms apart, at random, so that a periodic attack cannot synchronise with them. */
const BLOCK_GAP_MS = { least: 5, spread: 10 }
/** Bytes of a block's one transaction. */
const TRANSACTION_BYTES = 3_000

/** The measurements of one time window. */
export interface Window {
  startMs: number
  /** Milliseconds from publishing to arrival of each block, at the victim. */
  atVictim: number[]
  /** At a follower that gets blocks only from the victim. */
  atBehind: number[]
  /** At a follower without a connection to the victim: the machine's share. */
  atOther: number[]
  missed: number
  /** Processor time of other processes than this one and the victim, in milliseconds a second. */
  foreignCpuMsPerS: number
  victim: VictimReport
}

export interface HonestNetwork {
  readonly address: string
  /** Publishes blocks for this time. `profile` is the file of the victim's CPU profile. */
  watch(durationMs: number, profile?: string): Promise<Window>
  stop(): Promise<void>
}

/** A sequencer with a follower in this process, and the victim in a separate process. */
export async function startHonestNetwork(victimFile: string, execArgv: readonly string[]): Promise<HonestNetwork> {
  const config = testConfig('holocene')
  const sequencer = await startTestNode({ sequencerKey: SEQUENCER_KEY })
  const other = await startTestNode({ staticPeers: [sequencer.address] })
  const victim = fork(victimFile, ['--role=victim'], { execArgv: [...execArgv], serialization: 'advanced' })

  const published = new Map<number, number>()
  let atVictim: number[] = []
  let atBehind: number[] = []
  let atOther: number[] = []
  let missing = new Set<number>()
  const { request } = createRequests(victim, ({ number, atMs }) => {
    const sentMs = published.get(number)
    if (sentMs !== undefined) atVictim.push(atMs - sentMs)
    missing.delete(number)
  })
  const note = (node: P2pNode, times: () => number[]): void => {
    node.onPayload(({ payload }) => {
      const sentMs = published.get(payload.blockNumber)
      if (sentMs !== undefined) times().push(nowMs() - sentMs)
    })
  }
  note(other.node, () => atOther)
  const { address } = await request({ kind: 'start', sequencer: sequencer.address }, 'ready')
  // A follower that gets its blocks from the victim.
  const behind = await startTestNode({ staticPeers: [address] })
  await until('the mesh', () => sequencer.node.meshSize() === 2 && behind.node.meshSize() === 1)

  note(behind.node, () => atBehind)

  let number = 0
  const publish = (): void => {
    number += 1
    const transactions = [new Uint8Array(TRANSACTION_BYTES).fill(number)]
    const block = testBlock(config, { blockNumber: number, transactions })
    published.set(number, nowMs())
    missing.add(number)
    void sequencer.node.publish(block)
  }
  const publishFor = (durationMs: number): Promise<void> =>
    new Promise((resolve) => {
      const untilMs = nowMs() + durationMs
      const next = (): void => {
        if (nowMs() > untilMs) {
          resolve()
          return
        }
        publish()
        setTimeout(next, BLOCK_GAP_MS.least + Math.random() * BLOCK_GAP_MS.spread)
      }
      next()
    })
  return {
    address,
    async watch(durationMs, profile) {
      await request({ kind: 'reset', isProfiled: profile !== undefined }, 'reset')
      atVictim = []
      atBehind = []
      atOther = []
      for (const { received } of [sequencer, other, behind]) received.splice(0)
      missing = new Set()
      const startMs = nowMs()
      const foreignMs = watchForeignCpu()
      await publishFor(durationMs)
      // Waits for blocks in flight.
      for (const endMs = nowMs() + 3_000; missing.size > 0 && nowMs() < endMs; ) await delay(10)
      const seconds = (nowMs() - startMs) / 1_000
      const foreign = foreignMs() / seconds
      const { report } = await request({ kind: 'report', profile }, 'report')
      const foreignCpuMsPerS = foreign - report.cpuMsPerS
      return { startMs, foreignCpuMsPerS, atVictim, atBehind, atOther, missed: missing.size, victim: report }
    },
    async stop() {
      victim.disconnect()
      await Promise.all([sequencer, other, behind].map(({ node }) => node.stop()))
    },
  }
}

/** Milliseconds of all processors since the call, without idle time and this process. */
function watchForeignCpu(): () => number {
  const spent = (): number => {
    const busyMs = cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0)
    const { user, system } = process.cpuUsage()
    return busyMs - (user + system) / 1_000
  }
  const before = spent()
  return () => spent() - before
}

function createRequests(victim: ChildProcess, onBlock: (block: { number: number; atMs: number }) => void) {
  const waiters = new Map<string, (message: FromVictim) => void>()
  victim.on('message', (message: FromVictim) => {
    if (message.kind === 'block') return onBlock(message)
    waiters.get(message.kind)?.(message)
    waiters.delete(message.kind)
  })
  return {
    request: <K extends FromVictim['kind']>(message: ToVictim, kind: K) =>
      new Promise<Extract<FromVictim, { kind: K }>>((resolve) => {
        waiters.set(kind, (answer) => resolve(answer as Extract<FromVictim, { kind: K }>))
        victim.send(message)
      }),
  }
}
