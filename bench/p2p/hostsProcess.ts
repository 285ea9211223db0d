import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { systemClock } from '../../src/lib/clock.ts'
import { type Logger, silentLogger } from '../../src/lib/logger.ts'
import { DEFAULT_P2P_OPTIONS } from '../../src/p2p/base/options.ts'
import { PUBLISHING } from '../../src/p2p/gossip/publisher.ts'
import { createP2pNode } from '../../src/p2p/node.ts'
import { SEQUENCER_KEY, testChain, testConfig } from '../../src/p2p/testUtils/testChain.ts'
import type { P2pNode } from '../../src/p2p/types.ts'
import { type BlockMaker, createBlockMaker } from './blocks.ts'
import { answerCalls } from './calls.ts'
import { heapMb, measureLoopDelay, measureUsage, nowMs, startProfile, type Usage } from './measures.ts'

// Some hosts of one network: complete p2p nodes with real sockets, in a separate process.

const GOSSIP_EVENTS = 'op_node_default_p2p_gossip_events_total'
/** Above any message size, so that no host sends IDONTWANT. */
const NEVER_BYTES = Number.MAX_SAFE_INTEGER

/** Times on the clock that all processes share. */
export interface PublishedBlock {
  blockNumber: number
  calledMs: number
  signedMs: number
}

const usage = measureUsage()
let maker: BlockMaker | undefined
let stopProfile: (() => Promise<void>) | undefined
let loopDelayP99 = (): number => 0
const nodes: { node: P2pNode; registry: Registry }[] = []
const config = testConfig()
/** Block number and time of each delivery in this process. */
let arrivals: [number, number][] = []

/** Signing time of blocks of this process, by number. */
const signedAt = new Map<unknown, number>()
const signingLog: Logger = {
  ...silentLogger,
  debug(message, fields) {
    if (message === PUBLISHING) signedAt.set(fields?.number, nowMs())
  },
  child: () => signingLog,
}

let eventsBefore = { judged: 0, copies: 0 }
async function gossipEvents(): Promise<{ judged: number; copies: number }> {
  const events = { judged: 0, copies: 0 }
  for (const { registry } of nodes) {
    const metric = await registry.getSingleMetric(GOSSIP_EVENTS)?.get()
    for (const { labels, value } of metric?.values ?? []) {
      if (labels.type === 'DELIVER_MESSAGE' || labels.type === 'REJECT_MESSAGE') events.judged += value
      if (labels.type === 'DUPLICATE_MESSAGE') events.copies += value
    }
  }
  return events
}

const calls = {
  async open({ hosts, idontwant }: { hosts: number; idontwant: boolean }): Promise<string[]> {
    const addresses: string[] = []
    for (let index = 0; index < hosts; index++) {
      const registry = new Registry()
      const node = await createP2pNode(
        { logger: signingLog, clock: systemClock, registry, chain: testChain(config) },
        {
          ...DEFAULT_P2P_OPTIONS,
          privateKey: new Uint8Array(randomBytes(32)),
          listenIp: '127.0.0.1',
          listenTcpPort: 0,
          peerStorePath: 'memory',
          // Many hosts that start at once keep a machine busy.
          dialTimeoutMs: 120_000,
          peersLow: 100,
          peersHigh: 200,
          ping: false,
          sequencerKey: SEQUENCER_KEY,
          gossip: { ...DEFAULT_P2P_OPTIONS.gossip, ...(idontwant ? {} : { idontwantMinBytes: NEVER_BYTES }) },
        },
      )
      node.onPayload(({ payload }) => arrivals.push([payload.blockNumber, nowMs()]))
      await node.start()
      nodes.push({ node, registry })
      addresses.push(node.multiaddrs()[0] ?? '')
    }
    return addresses
  },
  async connect({ host, addresses }: { host: number; addresses: string[] }): Promise<void> {
    for (const address of addresses) await nodes[host]?.node.connectPeer(address)
  },
  /** Publishes blocks from the first host. */
  async publish(order: { size: number; blocks: number; intervalMs: number }): Promise<PublishedBlock[]> {
    const { size, blocks, intervalMs } = order
    maker ??= createBlockMaker(config, size)
    const published: PublishedBlock[] = []
    for (let index = 0; index < blocks; index++) {
      const block = maker.next()
      const { blockNumber } = block.payload
      const calledMs = nowMs()
      await nodes[0]?.node.publish(block)
      published.push({ blockNumber, calledMs, signedMs: signedAt.get(blockNumber) ?? Number.NaN })
      await delay(intervalMs)
    }
    return published
  },
  async measure({ profile }: { profile: string | undefined }): Promise<Usage> {
    // Collects the garbage of the start, so that it does not delay the first blocks.
    heapMb()
    if (profile !== undefined) stopProfile = await startProfile(profile)
    arrivals = []
    eventsBefore = await gossipEvents()
    loopDelayP99 = measureLoopDelay()
    return usage()
  },
  arrived: (): number => arrivals.length,
  async result() {
    const { cpuMs, sentBytes } = usage()
    await stopProfile?.()
    const events = await gossipEvents()
    const judged = events.judged - eventsBefore.judged
    const copies = events.copies - eventsBefore.copies
    return { cpuMs, sentBytes, loopDelayP99: loopDelayP99(), judged, copies, heapMb: heapMb(), arrivals }
  },
  heap: (): number => heapMb(),
}

export type HostsCalls = typeof calls
answerCalls(calls)
