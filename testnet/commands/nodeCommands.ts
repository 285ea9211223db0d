import { UsageError } from '../../src/lib/errors.ts'
import type { Handler } from './commandedTestnet.ts'
import { nodeNamed, sequencerRpc } from './nodeLookup.ts'

export const addNode: Handler = async (testnet) => {
  const name = await testnet.addNode()
  const { rollupRpc: rpc } = nodeNamed(testnet, name)
  return {
    did: `${name} runs at ${rpc}.`,
    lookAt: `It derives the chain and finds peers: npx devium watch --rpc ${rpc}`,
  }
}

export const removeNode: Handler = async (testnet, [name = '']) => {
  if (name === testnet.sequencer) throw new UsageError(`${name} makes the blocks: stop it instead`)
  nodeNamed(testnet, name, testnet.sequencer)
  await testnet.removeNode(name)
  return {
    did: `${name} ended and left the testnet. Its data stay in the directory.`,
    lookAt: `The other nodes lose a peer: npx devium p2p peers --rpc ${sequencerRpc(testnet)}`,
  }
}

export const moveSequencer: Handler = async (testnet, [action, name = '']) => {
  if (action !== 'move') throw new UsageError(`sequencer: expected "sequencer move NODE", got "sequencer ${action}"`)
  if (name === testnet.sequencer) throw new UsageError(`${name} is the sequencer already`)
  const before = testnet.sequencer
  nodeNamed(testnet, name, before)
  await testnet.moveSequencer(name)
  return {
    did: `${name} is the sequencer now, and ${before} is a verifier. The batch submitter reads from ${name}.`,
    lookAt: `Heads advance without a gap: npx devium sequencer status --rpc ${sequencerRpc(testnet)}`,
  }
}
