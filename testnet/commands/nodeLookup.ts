import { UsageError } from '../../src/lib/errors.ts'
import type { NodeEndpoints } from '../runner/events.ts'
import type { CommandedTestnet } from './commandedTestnet.ts'

/** Throws UsageError that names the nodes to choose from. */
export function nodeNamed({ endpoints }: CommandedTestnet, name: string, except?: string): NodeEndpoints {
  const nodes = endpoints.nodes.filter((node) => node.name !== except)
  const node = nodes.find((one) => one.name === name)
  if (node !== undefined) return node
  const names = nodes.map((one) => one.name).join(', ')
  throw new UsageError(`there is no node "${name}": expected one of ${names}`)
}

export function sequencerOf(testnet: CommandedTestnet): NodeEndpoints {
  return nodeNamed(testnet, testnet.sequencer)
}

export function sequencerRpc(testnet: CommandedTestnet): string {
  return sequencerOf(testnet).rollupRpc
}
