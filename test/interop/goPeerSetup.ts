import { randomBytes } from 'node:crypto'
import { afterEach, beforeAll, beforeEach } from 'vitest'
import { toHex } from '../../src/lib/hex.ts'
import { createLogger } from '../../src/lib/logger.ts'
import { blocksTopic, type PayloadVersion } from '../../src/p2p/gossip/topics.ts'
import type { P2pChain, P2pOptions } from '../../src/p2p/options.ts'
import { CHAIN_ID, SEQUENCER_ADDRESS, SEQUENCER_KEY, testChain, testConfig } from '../../src/p2p/testUtils/testChain.ts'
import { startTestNode, type TestNode, until } from '../../src/p2p/testUtils/testNode.ts'
import type { Fork } from '../../src/rollup/protocol/types.ts'
import { buildGoPeer, type GoPeerBinary } from './buildGoPeer.ts'
import { type GoPeer, type GoPeerConfig, startGoPeer } from './goPeerProcess.ts'

/** A fork of each payload version. */
export const FORK_OF = { 1: 'regolith', 2: 'canyon', 3: 'holocene', 4: 'isthmus' } as const satisfies Record<
  PayloadVersion,
  Fork
>
export const VERSIONS: readonly PayloadVersion[] = [1, 2, 3, 4]

export const topicOf = (version: PayloadVersion): string => blocksTopic(CHAIN_ID, version)

/** A node of ours, and what it says of messages that it does not accept. */
export interface OurNode extends TestNode {
  reasons: string[]
}

export interface Stage {
  ours(fork: Fork, options?: Partial<P2pOptions>, chain?: Partial<P2pChain>): Promise<OurNode>
  go(config?: Partial<GoPeerConfig>): Promise<GoPeer>
}

/** To be called in a `describe`: its tests are skipped with the reason where the Go peer cannot be built. */
export function setStage(): Stage {
  let binary: GoPeerBinary = { skip: 'not built' }
  const running: (() => Promise<void>)[] = []
  beforeAll(async () => {
    binary = await buildGoPeer()
  }, 400_000)
  beforeEach((context) => {
    if ('skip' in binary) context.skip(binary.skip)
  })
  afterEach(async () => {
    await Promise.all(running.splice(0).map((stop) => stop()))
  })
  return {
    async ours(fork, options = {}, chain = {}) {
      const reasons: string[] = []
      const logger = createLogger({
        level: 'debug',
        format: 'json',
        color: false,
        write(line) {
          const { msg, result, reason } = JSON.parse(line)
          if (msg === 'Block from gossip not accepted') reasons.push(`${result} ${reason}`)
        },
      })
      const config = testConfig(fork)
      const started = await startTestNode(
        { sequencerKey: SEQUENCER_KEY, ...options },
        { logger, chain: testChain(config, chain) },
      )
      running.push(() => started.node.stop())
      return { ...started, reasons }
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
        idForm: 'with-topic',
        scoring: 'global',
        spellings: [''],
        ...config,
      })
      running.push(() => peer.kill())
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
