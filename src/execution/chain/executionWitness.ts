import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { MESSAGE_PASSER_ADDRESS } from '../../rollup/protocol/constants.ts'
import type { PayloadAttributes } from '../../rollup/protocol/types.ts'
import { beginExecution } from '../block/blockExecution.ts'
import type { EvmModules } from '../evm/environment.ts'
import type { Block, BlockHeader } from '../primitives/block.ts'
import { StateDatabase, type StateStore, type StateView } from '../state/stateDatabase.ts'
import { WorldState } from '../state/worldState.ts'
import { AnswerBudget } from '../tracing/answerBudget.ts'
import { buildForced } from './forcedBlock.ts'
import { encodeHeader } from './storage/headerCodec.ts'

/**
 * All that a program without a database needs to execute a block: encoded trie nodes, code, and the addresses and slots
 * that were read (reth's ExecutionWitness). If they are more than 100,000, some addresses and slots are missing.
 */
export interface ExecutionWitness {
  state: Uint8Array[]
  codes: Uint8Array[]
  keys: Uint8Array[]
  /** From the oldest block that BLOCKHASH reached to the parent. */
  headers: Uint8Array[]
}

export interface WitnessModules {
  evm: EvmModules
  store: Pick<StateStore, 'code'>
  /** State after the parent. */
  view: StateView
  /** Aborts when the client disconnects. */
  client: AbortSignal
}

/** Executes a block again. Throws ChainError if that is not possible. */
export function witnessOfBlock(modules: WitnessModules, block: Block, parent: BlockHeader): Promise<ExecutionWitness> {
  return record(modules, parent, async (evm, world) => {
    const execution = await beginExecution(evm, world, block, parent, modules.client)
    for (const transaction of block.transactions) {
      await execution.env.evm.yieldToLoop()
      await execution.add(transaction)
    }
    execution.finish()
  })
}

/** Executes attributes, without the pool. Throws ChainError `invalid-attributes` or `build-failed`. */
export function witnessOfAttributes(
  modules: WitnessModules,
  attributes: PayloadAttributes,
  parent: BlockHeader,
): Promise<ExecutionWitness> {
  return record(modules, parent, async (evm, world) => {
    await buildForced({ evm, world }, { parent, attributes })
  })
}

/** Characters of a witness, most of them of code: a block of 30 million gas may read ten thousand contracts. */
const MAX_CHARACTERS = 200_000_000

/** Runs `execute` on caches of its own, so that each read reaches the store. */
async function record(
  { evm, store, view, client }: WitnessModules,
  parent: BlockHeader,
  execute: (evm: EvmModules, world: WorldState) => Promise<void>,
): Promise<ExecutionWitness> {
  const state = new Map<Hex, Uint8Array>()
  const codes: Uint8Array[] = []
  const budget = new AnswerBudget('the block reads too much', MAX_CHARACTERS)
  const headers = new Map<Hex, Uint8Array>([[parent.hash, encodeHeader(parent)]])
  const states = new StateDatabase({
    store: {
      code(hash) {
        const code = store.code(hash)
        if (code === undefined) return undefined
        budget.take(2 * code.length)
        codes.push(code)
        return code
      },
    },
  })
  const recorded: StateView = {
    node(key, hash) {
      const node = view.node(key, hash)
      if (node === undefined) return undefined
      budget.take(2 * node.length)
      state.set(toHex(hash), node)
      return node
    },
    leaf: () => undefined,
    isPruned: () => view.isPruned(),
  }
  const ancestry = {
    header(hash: Hex) {
      const header = evm.ancestry.header(hash)
      if (header !== undefined) headers.set(hash, encodeHeader(header))
      return header
    },
    // All headers between are part of the witness.
    canonicalHeader: () => undefined,
    isCanonical: () => false,
  }
  const world = new WorldState(states.at(recorded, false), parent.stateRoot)
  // The output root needs it.
  world.account(MESSAGE_PASSER_ADDRESS)
  const limit = AbortSignal.any([client, ...(evm.limit === undefined ? [] : [evm.limit])])
  await execute({ ...evm, ancestry, limit }, world)
  return {
    state: [...state.values()],
    codes,
    keys: states.hashed().map((key) => fromHex(key)),
    headers: [...headers.values()].reverse(),
  }
}
