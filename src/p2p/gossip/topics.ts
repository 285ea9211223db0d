import type { PayloadVersion } from '../../rollup/protocol/index.ts'

export type { PayloadVersion } from '../../rollup/protocol/index.ts'
export { payloadVersionAt as gossipVersionAt } from '../../rollup/protocol/index.ts'

/** Each has a topic of its own, and all are joined at all times (specs: rollup-node-p2p, "Gossip topics"). */
export const PAYLOAD_VERSIONS: readonly PayloadVersion[] = [1, 2, 3, 4]

/** `/optimism/<chain id>/<version - 1>/blocks` */
export function blocksTopic(chainId: bigint, version: PayloadVersion): string {
  return `/optimism/${chainId}/${version - 1}/blocks`
}
