import type { NodeEndpoints } from '../runner/events.ts'
import type { CommandedTestnet } from './commandedTestnet.ts'

export function sequencerOf({ endpoints }: CommandedTestnet): NodeEndpoints {
  const [sequencer] = endpoints.nodes
  if (sequencer === undefined) throw new RangeError('a testnet has a sequencer')
  return sequencer
}

export function sequencerRpc(testnet: CommandedTestnet): string {
  return sequencerOf(testnet).rollupRpc
}
