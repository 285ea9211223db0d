import { StreamedJson } from '../../../jsonRpc/bodyChunks.ts'
import { toHex } from '../../../lib/hex.ts'
import { yieldToLoop } from '../../../lib/yieldToLoop.ts'
import { attributesFromJson } from '../../../rollup/protocol/index.ts'
import type { PayloadAttributes } from '../../../rollup/protocol/types.ts'
import type { ReadableChain } from '../../chain/chainView.ts'
import type { ExecutionWitness } from '../../chain/executionWitness.ts'
import { requireHeader } from '../blockLookup.ts'
import type { MethodTable } from '../context.ts'
import { serverError } from '../errors.ts'
import { type BlockSelector, blockNumber, data, hash, method, type Param } from '../params.ts'

const attributes: Param<PayloadAttributes> = { parse: attributesFromJson }

/** The prefix of a code's key in op-geth's database. Programs that prove blocks ask for code under it. */
const CODE_PREFIX = 0x63

/** What programs that prove blocks (kona-host, op-program) read. */
export function createWitnessMethods(chain: ReadableChain): MethodTable {
  const witnessOf = async (selector: BlockSelector, client: AbortSignal) => {
    const block = await chain.blockByHash((await requireHeader(chain, selector)).hash)
    if (block === undefined) throw serverError('block not found')
    if (block.header.number === 0) throw serverError('genesis cannot be executed')
    return new StreamedJson(write(await chain.witnessOfBlock(block, client), client))
  }
  return {
    debug_executePayload: method(
      [hash, attributes],
      async ([parentHash, given], { signal }) =>
        new StreamedJson(write(await chain.witnessOfAttributes(given, parentHash, signal), signal)),
    ),
    debug_executionWitness: method([blockNumber], ([selector], { signal }) => witnessOf(selector, signal)),
    debug_executionWitnessByBlockHash: method([hash], ([wanted], { signal }) =>
      witnessOf({ kind: 'hash', hash: wanted, requireCanonical: false }, signal),
    ),
    debug_dbGet: method([data], async ([key]) => {
      const code = key.length === 33 && key[0] === CODE_PREFIX ? chain.storedCode(key.subarray(1)) : undefined
      if (code === undefined) throw serverError('not found')
      return toHex(code)
    }),
  }
}

/** A full block that reads other accounts in each call has a witness of tens of megabytes. */
async function* write(witness: ExecutionWitness, signal: AbortSignal): AsyncGenerator<string> {
  let before = '{'
  for (const [name, list] of Object.entries(witness)) {
    yield `${before}"${name}":[`
    for (const [index, bytes] of list.entries()) {
      await yieldToLoop('answer')
      signal.throwIfAborted()
      yield `${index === 0 ? '' : ','}"${toHex(bytes)}"`
    }
    yield ']'
    before = ','
  }
  yield '}'
}
