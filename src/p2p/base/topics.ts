import { type Clock, unixSeconds } from '../../lib/clock.ts'
import { type PayloadVersion, payloadVersionAt } from '../../rollup/protocol/index.ts'
import type { RollupConfig } from '../../rollup/protocol/types.ts'

export type { PayloadVersion } from '../../rollup/protocol/index.ts'

/**
 * Each version has its own topic, and the node joins all topics at all times (specs: rollup-node-p2p, "Gossip topics").
 */
export const PAYLOAD_VERSIONS: readonly PayloadVersion[] = [1, 2, 3, 4]

/** `/optimism/<chain id>/<version - 1>/blocks` */
export function blocksTopic(chainId: bigint, version: PayloadVersion): string {
  return `/optimism/${chainId}/${version - 1}/blocks`
}

export interface ChainTopics {
  readonly byVersion: ReadonlyMap<PayloadVersion, string>
  /** Undefined for topics of other chains. */
  versionOf(topic: string): PayloadVersion | undefined
  /** The topic that carries blocks of the current time. */
  active(): { version: PayloadVersion; topic: string }
}

export function createChainTopics(config: RollupConfig, clock: Clock): ChainTopics {
  const byVersion = new Map(PAYLOAD_VERSIONS.map((version) => [version, blocksTopic(config.l2ChainId, version)]))
  return {
    byVersion,
    versionOf: (topic) => PAYLOAD_VERSIONS.find((version) => byVersion.get(version) === topic),
    active() {
      const version = payloadVersionAt(config, unixSeconds(clock))
      return { version, topic: blocksTopic(config.l2ChainId, version) }
    },
  }
}
