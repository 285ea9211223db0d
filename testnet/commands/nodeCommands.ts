import { UsageError } from '../../src/lib/errors.ts'
import type { CommandedTestnet, CommandOutcome } from './commandedTestnet.ts'
import { sequencerOf, sequencerRpc } from './sequencerLookup.ts'

export async function addNode(testnet: CommandedTestnet): Promise<CommandOutcome> {
  const name = await testnet.addNode()
  const rpc = testnet.endpoints.nodes.find((node) => node.name === name)?.rollupRpc
  return {
    did: `${name} runs at ${rpc}.`,
    lookAt: `It derives the chain and finds peers: npx devium watch --rpc ${rpc}`,
  }
}

export async function removeNode(testnet: CommandedTestnet, [name = '']: readonly string[]): Promise<CommandOutcome> {
  const nodes = testnet.endpoints.nodes.map((node) => node.name)
  if (!nodes.includes(name))
    throw new UsageError(
      `there is no node "${name}": expected one of ${nodes.filter((one) => one !== testnet.sequencer).join(', ')}`,
    )
  if (name === sequencerOf(testnet).name) throw new UsageError(`${name} makes the blocks: stop it instead`)
  await testnet.removeNode(name)
  return {
    did: `${name} ended and left the testnet. Its data stay in the directory.`,
    lookAt: `The other nodes lose a peer: npx devium p2p peers --rpc ${sequencerRpc(testnet)}`,
  }
}

export async function moveSequencer(
  testnet: CommandedTestnet,
  [action, name = '']: readonly string[],
): Promise<CommandOutcome> {
  const others = testnet.endpoints.nodes.map((node) => node.name).filter((one) => one !== testnet.sequencer)
  if (action !== 'move') throw new UsageError(`sequencer: expected "sequencer move NODE", got "sequencer ${action}"`)
  if (name === testnet.sequencer) throw new UsageError(`${name} is the sequencer already`)
  if (!others.includes(name)) throw new UsageError(`there is no node "${name}": expected one of ${others.join(', ')}`)
  const before = testnet.sequencer
  await testnet.moveSequencer(name)
  return {
    did: `${name} is the sequencer now, and ${before} is a verifier. The batch submitter reads from ${name}.`,
    lookAt: `Heads advance without a gap: npx devium sequencer status --rpc ${sequencerRpc(testnet)}`,
  }
}
