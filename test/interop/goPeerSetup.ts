import { randomBytes } from 'node:crypto'
import { beforeAll, beforeEach, expect, onTestFinished } from 'vitest'
import { type Hex, toHex } from '../../src/lib/hex.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import type { P2pChain, P2pOptions } from '../../src/p2p/base/options.ts'
import { blocksTopic, type PayloadVersion } from '../../src/p2p/base/topics.ts'
import { nodeInTest } from '../../src/p2p/testUtils/inTest.ts'
import { recordRejections } from '../../src/p2p/testUtils/rejections.ts'
import {
  CHAIN_ID,
  SEQUENCER_ADDRESS,
  SEQUENCER_KEY,
  testBlock,
  testChain,
  testConfig,
} from '../../src/p2p/testUtils/testChain.ts'
import type { TestNode } from '../../src/p2p/testUtils/testNode.ts'
import type { Fork, PayloadEnvelope, RollupConfig } from '../../src/rollup/protocol/types.ts'
import { buildGoPeer } from './buildGoPeer.ts'
import type { PeerBinary } from './buildOnce.ts'
import {
  envelopeFromJson,
  envelopeToJson,
  type GoPeer,
  type GoPeerConfig,
  type GoPeerEvent,
  type Publication,
  startGoPeer,
} from './goPeerProcess.ts'

/** A fork of each payload version. */
export const FORK_OF = { 1: 'regolith', 2: 'canyon', 3: 'holocene', 4: 'isthmus' } as const satisfies Record<
  PayloadVersion,
  Fork
>
export const VERSIONS: readonly PayloadVersion[] = [1, 2, 3, 4]

export const topicOf = (version: PayloadVersion): string => blocksTopic(CHAIN_ID, version)

/** A node of ours, and what it says of messages that it does not accept. */
export interface OurNode extends TestNode {
  config: RollupConfig
  reasons: string[]
}

export interface Stage {
  /** On a chain that ends with this fork, or this one. */
  ours(chain: Fork | RollupConfig, options?: Partial<P2pOptions>, changes?: Partial<P2pChain>): Promise<OurNode>
  go(config?: Partial<GoPeerConfig>): Promise<GoPeer>
}

/** To be called in a `describe`: its tests are skipped with the reason where the Go peer cannot be built. */
export function setStage(): Stage {
  let binary: PeerBinary = { skip: 'not built' }
  beforeAll(async () => {
    binary = await buildGoPeer()
    if ('skip' in binary) console.warn(`Tests with the Go peer are skipped: ${binary.skip}`)
  }, 400_000)
  beforeEach((context) => {
    if ('skip' in binary) context.skip(binary.skip)
  })
  return {
    async ours(chain, options = {}, changes = {}) {
      const { logger, reasons } = recordRejections()
      const config = typeof chain === 'string' ? testConfig(chain) : chain
      const started = await nodeInTest(
        { sequencerKey: SEQUENCER_KEY, ...options },
        { logger, chain: testChain(config, changes) },
      )
      return { ...started, config, reasons }
    },
    async go(config = {}) {
      if ('skip' in binary) throw new Error(binary.skip)
      const peer = await startGoPeer(binary.path, {
        key: toHex(randomBytes(32)),
        port: 0,
        userAgent: 'go-interop',
        chainId: Number(CHAIN_ID),
        signer: SEQUENCER_ADDRESS,
        lazy: false,
        scoring: 'global',
        spellings: [''],
        ...config,
      })
      onTestFinished(() => peer.kill())
      return peer
    },
  }
}

/** Our node and these peers, which are all it has, are in each other's mesh of this version's topic. */
export async function meshed(ours: TestNode, peers: readonly GoPeer[], version: PayloadVersion): Promise<void> {
  const isOurs = (event: { peer?: string; topic?: string }): boolean =>
    event.peer === ours.node.peerId && event.topic === topicOf(version)
  await Promise.all(peers.map((go) => go.event('grafted', isOurs)))
  await until('our mesh', () => ours.node.meshSize() === peers.length)
}

let nextNumber = 1

/** A valid block at a height of its own. */
export function nextBlock(ours: OurNode, changes: Parameters<typeof testBlock>[1] = {}): PayloadEnvelope {
  return testBlock(ours.config, { blockNumber: nextNumber++, ...changes })
}

/** For the Go peer to sign, with the sequencer's key unless told otherwise. */
export function signed(
  block: PayloadEnvelope,
  version: number,
  seal: { key?: Hex; spoil?: 'recovery' } = {},
): Publication {
  return { version, block: envelopeToJson(block), key: toHex(SEQUENCER_KEY), ...seal }
}

/** A block of the Go peer's arrives with us; returns its id there. */
export async function expectFromGo(go: GoPeer, ours: OurNode, version: PayloadVersion): Promise<Hex> {
  const block = nextBlock(ours)
  const arrived = ours.block(block.payload.blockHash)
  const id = await go.publish(signed(block, version))
  expect(await arrived).toEqual(block)
  return id
}

/** A block of ours arrives with the Go peer; returns its event there. */
export async function expectFromUs(
  ours: OurNode,
  go: GoPeer,
  changes: Parameters<typeof testBlock>[1] = {},
): Promise<GoPeerEvent & { data: Hex; messageId: Hex }> {
  const block = nextBlock(ours, changes)
  await ours.node.publish(block)
  const event = await go.event('message', ({ block: got }) => got?.payload.blockHash === block.payload.blockHash)
  const { data, messageId } = event
  if (event.block === undefined || data === undefined || messageId === undefined) throw new Error('event without block')
  expect(envelopeFromJson(event.block)).toEqual(block)
  return { ...event, data, messageId }
}
