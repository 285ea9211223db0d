import type { Registry } from 'prom-client'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { P2pNode, P2pOptions } from '../../p2p/index.ts'
import type { EngineClient } from '../../rollup/engine/index.ts'
import { bootnodesOf } from '../../rollup/networks/bootnodes.ts'
import type { P2pPort, RuntimeConfig } from '../../rollup/node/index.ts'
import type { RollupConfig } from '../../rollup/protocol/index.ts'

interface P2pParts {
  config: RollupConfig
  engine: EngineClient
  runtimeConfig: RuntimeConfig
  registry: Registry
  clock: Clock
  logger: Logger
  signal: AbortSignal
}

/** Creates the peer-to-peer stack, which loads slowly. Undefined with `--p2p.disable`. */
export async function createP2p(options: P2pOptions | undefined, parts: P2pParts): Promise<P2pNode | undefined> {
  if (options === undefined) return undefined
  const { config, engine, runtimeConfig, registry, clock, logger, signal } = parts
  const { createP2pNode } = await import('../../p2p/index.ts')
  const chain = {
    config,
    signerAddress: () => runtimeConfig.unsafeBlockSigner(),
    payloadByNumber: (number: number) => engine.payloadByNumber(number),
  }
  return createP2pNode({ logger, clock, registry, chain, signal }, options)
}

/** Whether this node can sign the blocks of its own sequencer. */
export function canSign(options: P2pOptions | undefined): boolean {
  return options?.sequencerKey !== undefined || options?.remoteSigner !== undefined
}

/** A sequencer without a key cannot publish. It logs this once and not for every block. */
export function publishingPort(p2p: P2pNode, lacksKey: boolean, logger: Logger): P2pPort {
  if (!lacksKey) return p2p
  logger.warn('The sequencer has no signing key and does not gossip its blocks. Other nodes get them from L1 only', {
    flag: 'p2p.sequencer.key',
  })
  return {
    publish: async () => {},
    onPayload: (listener) => void p2p.onPayload(listener),
    requestRange: (start, end, above) => p2p.requestRange(start, end, above),
    headMoved: (event) => p2p.headMoved(event),
    health: () => p2p.health(),
  }
}

/** Without `--p2p.bootnodes`, a chain on a public L1 uses the well-known bootnodes. */
export function withKnownBootnodes(options: P2pOptions | undefined, config: RollupConfig): P2pOptions | undefined {
  if (options?.discovery === undefined || options.discovery.bootnodes !== undefined) return options
  return { ...options, discovery: { ...options.discovery, bootnodes: [...bootnodesOf(config.l1ChainId)] } }
}
