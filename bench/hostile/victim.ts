import { writeFile } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { startTestNode } from '../../src/p2p/testUtils/testNode.ts'
import { watchLoop } from '../loopWatch.ts'
import { nowMs } from '../p2p/measures.ts'

/** The costs and observations of the victim in one time window. */
export interface VictimReport {
  peakRssMb: number
  heapMb: number
  /** The longest event loop iteration, in processor time of the main thread. */
  longestIterationMs: number
  /** CPU time of all its threads, in milliseconds a second. */
  cpuMsPerS: number
  bans: string[]
  firstBanAtMs: number | undefined
  offences: string[]
}

export type ToVictim =
  | { kind: 'start'; sequencer: string }
  | { kind: 'reset'; isProfiled: boolean }
  | { kind: 'report'; profile: string | undefined }
export type FromVictim =
  | { kind: 'ready'; address: string }
  | { kind: 'block'; number: number; atMs: number }
  | { kind: 'report'; report: VictimReport }
  | { kind: 'reset' }

const POLL_MS = 50

/** The attacked follower: a separate process that its parent controls. */
export function runVictim(): void {
  // As in the program.
  const iterations = watchLoop()
  const session = new Session()
  session.connect()
  let victim: Awaited<ReturnType<typeof startTestNode>> | undefined
  let peakRss = 0
  let resetAtMs = 0
  let cpuAtReset = process.cpuUsage()
  let knownBans = new Set<string>()
  let firstBanAtMs: number | undefined

  const newBans = async (): Promise<string[]> =>
    ((await victim?.node.bans()) ?? []).map(({ subject }) => subject).filter((subject) => !knownBans.has(subject))
  setInterval(async () => {
    peakRss = Math.max(peakRss, process.memoryUsage.rss())
    if (firstBanAtMs === undefined && (await newBans()).length > 0) firstBanAtMs = nowMs()
  }, POLL_MS)

  const start = async (sequencer: string): Promise<FromVictim> => {
    // The attacker has its own address, which is not exempt.
    victim = await startTestNode({ staticPeers: [sequencer], ipColocationExempt: ['127.0.0.1/32'] })
    victim.node.onPayload(({ payload }) => send({ kind: 'block', number: payload.blockNumber, atMs: nowMs() }))
    await session.post('Profiler.enable')
    return { kind: 'ready', address: victim.address }
  }
  const reset = async (isProfiled: boolean): Promise<FromVictim> => {
    knownBans = new Set([...knownBans, ...(await newBans())])
    victim?.received.splice(0)
    globalThis.gc?.()
    if (isProfiled) await session.post('Profiler.start')
    peakRss = 0
    resetAtMs = Date.now()
    firstBanAtMs = undefined
    cpuAtReset = process.cpuUsage()
    iterations.reset()
    return { kind: 'reset' }
  }
  const offencesSinceReset = async (): Promise<string[]> => {
    const offences = new Set<string>()
    for (const { events } of (await victim?.node.peerHistory()) ?? []) {
      for (const { kind, reason, lastMs } of events) {
        if (lastMs >= resetAtMs && (kind === 'behaviour' || kind === 'reject')) offences.add(reason)
      }
    }
    return [...offences]
  }
  const report = async (profile: string | undefined): Promise<FromVictim> => {
    const longestIterationMs = iterations.longest()
    const { user, system } = process.cpuUsage(cpuAtReset)
    const cpuMsPerS = (user + system) / (Date.now() - resetAtMs)
    if (profile !== undefined) await writeFile(profile, JSON.stringify((await session.post('Profiler.stop')).profile))
    const bans = await newBans()
    const offences = await offencesSinceReset()
    globalThis.gc?.()
    const { heapUsed, external } = process.memoryUsage()
    const mb = (bytes: number): number => Math.round(bytes / 1e6)
    return {
      kind: 'report',
      report: {
        longestIterationMs,
        cpuMsPerS,
        peakRssMb: mb(peakRss),
        heapMb: mb(heapUsed + external),
        bans,
        firstBanAtMs,
        offences,
      },
    }
  }
  process.on('message', async (message: ToVictim) => {
    if (message.kind === 'start') send(await start(message.sequencer))
    else if (message.kind === 'reset') send(await reset(message.isProfiled))
    else send(await report(message.profile))
  })
  process.on('disconnect', () => process.exit())
}

function send(message: FromVictim): void {
  process.send?.(message)
}
