import { HOSTILE_KINDS } from '../../src/cli/operator/testnet/hostileKinds.ts'
import { UsageError } from '../../src/lib/errors.ts'
import { countOf } from '../../src/lib/phrases.ts'
import type { Handler } from './commandedTestnet.ts'
import { nodeNamed, sequencerRpc } from './nodeLookup.ts'

const KINDS: readonly string[] = HOSTILE_KINDS

/** `hostile KIND [NODE]`, `hostile off`. */
export const sendHostile: Handler = async (testnet, words) => {
  const { hostile } = testnet
  const [kind = '', name] = words
  if (kind === 'off' && name === undefined) {
    const ended = await hostile.end()
    if (ended === 0) throw new UsageError('hostile: no attack runs')
    return {
      did: `${countOf(ended, 'attack')} ended.`,
      lookAt: `Bans expire: npx devium p2p bans --rpc ${sequencerRpc(testnet)}`,
    }
  }
  if (!KINDS.includes(kind)) throw new UsageError(`hostile: expected off, or one of ${KINDS.join(', ')}; got "${kind}"`)
  const node = nodeNamed(testnet, name ?? testnet.sequencer)
  if (!hostile.start(kind, node)) throw new UsageError(`hostile: ${kind} at ${node.name} is running already`)
  return {
    did: `A hostile peer attacks ${node.name} with ${kind}. It returns with a new identity whenever it is dropped.`,
    lookAt: `The score of the hostile peer: npx devium p2p explain --rpc ${node.rollupRpc}`,
  }
}
