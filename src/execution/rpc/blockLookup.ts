import type { ReadableChain } from '../chain/chainView.ts'
import type { StateReader } from '../chain/stateReader.ts'
import type { BlockHeader } from '../primitives/block.ts'
import { prunedHistory, serverError } from './errors.ts'
import type { BlockSelector } from './params.ts'

type Lookup = Pick<
  ReadableChain,
  'head' | 'safe' | 'finalized' | 'genesis' | 'headerByHash' | 'headerByNumber' | 'isCanonical'
>

/** The header that the selector names. Undefined if there is none. `pending` is the latest block, as in op-geth. */
export async function findHeader(chain: Lookup, selector: BlockSelector): Promise<BlockHeader | undefined> {
  switch (selector.kind) {
    case 'number':
      return chain.headerByNumber(selector.number)
    case 'hash': {
      const header = await chain.headerByHash(selector.hash)
      if (header !== undefined && selector.requireCanonical && !(await chain.isCanonical(header))) {
        throw serverError('hash is not currently canonical')
      }
      return header
    }
    case 'label':
      if (selector.label === 'earliest') return chain.genesis
      if (selector.label === 'safe') return chain.safe()
      if (selector.label === 'finalized') return chain.finalized()
      return chain.head()
  }
}

/** Like findHeader. A label that no forkchoice has set is an error. op-node recognises it by its message. */
export async function findLabelledHeader(chain: Lookup, selector: BlockSelector): Promise<BlockHeader | undefined> {
  const header = await findHeader(chain, selector)
  if (header === undefined && selector.kind === 'label') throw serverError(`${selector.label} block not found`)
  return header
}

/** Like findHeader, for methods that need the header. */
export async function requireHeader(chain: Lookup, selector: BlockSelector): Promise<BlockHeader> {
  const header = await findHeader(chain, selector)
  if (header === undefined) throw serverError('header not found')
  return header
}

export async function requireState(
  chain: Lookup & Pick<ReadableChain, 'stateAt'>,
  selector: BlockSelector,
): Promise<StateReader> {
  return keptState(chain, await requireHeader(chain, selector))
}

/** The state after a block, for methods that need it. */
export async function keptState(
  chain: Pick<ReadableChain, 'stateAt'>,
  { hash, number }: Pick<BlockHeader, 'hash' | 'number'>,
): Promise<StateReader> {
  const state = await chain.stateAt(hash)
  if (state === undefined) throw prunedHistory(`the state of block ${number} was pruned`)
  return state
}
