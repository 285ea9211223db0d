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

/** The peer-to-peer stack, which takes a while to load; undefined with `--p2p.disable`. */
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

/** Whether blocks of an own sequencer can be published. */
export function canSign(options: P2pOptions | undefined): boolean {
  return options?.sequencerKey !== undefined || options?.remoteSigner !== undefined
}

/** A sequencer without a key cannot publish: it says so once and not with every block. */
export function publishingPort(p2p: P2pNode, lacksKey: boolean, logger: Logger): P2pPort {
  if (!lacksKey) return p2p
  logger.warn('Sequencer has no key to sign blocks with: they reach other nodes by L1 only', {
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

/** Without a choice of the operator's: the well-known bootnodes, where the L1 is a public network. */
export function withKnownBootnodes(options: P2pOptions | undefined, config: RollupConfig): P2pOptions | undefined {
  if (options?.discovery === undefined || options.discovery.bootnodes !== undefined) return options
  return { ...options, discovery: { ...options.discovery, bootnodes: [...bootnodesOf(config.l1ChainId)] } }
}
