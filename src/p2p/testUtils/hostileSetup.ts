import { until } from '../../lib/testUtils/until.ts'
import type { P2pOptions } from '../base/options.ts'
import type { PeerEvent } from '../base/schemas.ts'
import { compressSnappy } from '../base/snappyBlock.ts'
import { gossipMessage, signedMessage } from './signedMessage.ts'
import { CHAIN_ID, SEQUENCER_KEY, testBlock, testConfig } from './testChain.ts'
import { startTestNode, type TestNode } from './testNode.ts'

export const HOSTILE_CONFIG = testConfig('holocene')

type Offend = () => void | Promise<void>

/** A sequencer and a follower. Blocks must keep flowing between them, whatever the follower receives from others. */
export interface Victims {
  sequencer: TestNode
  follower: TestNode
  /** The peer's history, newest last. */
  events(peerId: string): Promise<PeerEvent[]>
  /** How often the peer did this, by its history. */
  count(peerId: string, kind: PeerEvent['kind'], reason: string): Promise<number>
  score(peerId: string): Promise<number>
  isBanned(peerId: string): Promise<boolean>
  /** Waits for the peer's ban and the history entry with the reason. `offend` as in `offendUntil`. */
  banned(peerId: string, offend?: Offend): Promise<PeerEvent>
  /** Publishes a block at the sequencer and waits for it at the follower. */
  expectBlock(): Promise<void>
  stop(): Promise<void>
}

export async function startVictims(
  options: Partial<P2pOptions> = {},
  modules: Parameters<typeof startTestNode>[1] = {},
): Promise<Victims> {
  const sequencer = await startTestNode({ sequencerKey: SEQUENCER_KEY })
  const { staticPeers = [], ...others } = options
  const follower = await startTestNode({ staticPeers: [sequencer.address, ...staticPeers], ...others }, modules)
  await until('the mesh', () => follower.node.meshSize() > 0 && sequencer.node.meshSize() > 0)
  let number = 1_000
  const { events } = follower
  const isBanned = async (peerId: string): Promise<boolean> =>
    (await follower.node.bans()).some(({ subject }) => subject === peerId)
  return {
    sequencer,
    follower,
    events,
    async count(peerId, kind, reason) {
      const found = (await events(peerId)).filter((event) => event.kind === kind && event.reason === reason)
      return found.reduce((sum, event) => sum + event.count, 0)
    },
    async score(peerId) {
      const [report] = await follower.node.peerScore(peerId)
      return report?.total ?? 0
    },
    isBanned,
    async banned(peerId, offend = () => {}) {
      await offendUntil('the ban', offend, () => isBanned(peerId))
      const ban = (await events(peerId)).find(({ kind }) => kind === 'ban')
      if (ban === undefined) throw new Error('the history does not know of the ban')
      return ban
    },
    async expectBlock() {
      number += 1
      const block = testBlock(HOSTILE_CONFIG, { blockNumber: number })
      const arrived = follower.block(block.payload.blockHash)
      await sequencer.node.publish(block)
      await arrived
    },
    async stop() {
      await Promise.all([sequencer.node.stop(), follower.node.stop()])
    },
  }
}

/**
 * Offends again after each probe: points decay on a busy machine, and what a peer sends while it is graylisted is not
 * read. An offence may fail, since the connection ends with a ban.
 */
export function offendUntil(event: string, offend: Offend, probe: () => Promise<boolean>): Promise<boolean> {
  return until(event, async () => {
    if (await probe()) return true
    await offend()
    return false
  })
}

/** Distinct messages signed by a key other than the sequencer's. */
export function wronglySigned(count: number): Uint8Array[] {
  const message = signedMessage(testBlock(HOSTILE_CONFIG), 3, CHAIN_ID, new Uint8Array(32).fill(9))
  return Array.from({ length: count }, (_, n) => {
    const copy = Buffer.from(message)
    copy.writeUInt32LE(n, copy.length - 8)
    return compressSnappy(copy)
  })
}

/** A block in gossip encoding, signed by this key. */
export function gossiped(changes: Parameters<typeof testBlock>[1] = {}, key: Uint8Array = SEQUENCER_KEY): Uint8Array {
  return gossipMessage(testBlock(HOSTILE_CONFIG, changes), key)
}
