import type { NodeEndpoints } from '../runner/events.ts'
import type { CommandedTestnet } from './commandedTestnet.ts'

export function sequencerOf(testnet: CommandedTestnet): NodeEndpoints {
  const sequencer = testnet.endpoints.nodes.find(({ name }) => name === testnet.sequencer)
  if (sequencer === undefined) throw new RangeError('a testnet has a sequencer')
  return sequencer
}

export function sequencerRpc(testnet: CommandedTestnet): string {
  return sequencerOf(testnet).rollupRpc
}
