import { JsonRpcError } from '../../../jsonRpc/types.ts'
import { type Hex, normalizeHex } from '../../../lib/hex.ts'
import { asObject, type JsonObject } from '../../../lib/jsonReader.ts'
import { TokenBucket } from '../../../lib/tokenBucket.ts'
import { EMPTY_TRIE_ROOT } from '../../../rollup/protocol/constants.ts'
import type { ReadableChain } from '../../chain/chainView.ts'
import type { BlockHeader, TransactionCondition } from '../../primitives/block.ts'
import { blockProblem, conditionCost, conditionFault, stateProblem } from '../../txPool/condition.ts'
import { keptState } from '../blockLookup.ts'
import type { MethodTable, RpcModules } from '../context.ts'
import type { RpcOptions } from '../options.ts'
import { data, maybe, method, type Param, readHexOrDecimal, readStorageSlot } from '../params.ts'
import { readTransaction, send } from './transactionMethods.ts'

/** op-geth's codes and limits (`params/conditional_tx_params.go`). */
const REJECTED = -32003
const TOO_COSTLY = -32005
const MAX_COST = 1000
/** Lookups in one burst. */
const BURST = 3000

const condition: Param<TransactionCondition> = {
  parse(value) {
    const json = asObject(value, 'condition')
    const knownAccounts: TransactionCondition['knownAccounts'] = {}
    const known = Object.entries(asObject(json.knownAccounts ?? {}, 'knownAccounts'))
    if (known.length > MAX_COST) throw tooCostly(known.length)
    for (const [address, given] of known) {
      knownAccounts[normalizeHex(address, 20, 'address')] =
        typeof given === 'string' ? readStorageSlot(given) : readSlots(given)
    }
    return {
      knownAccounts,
      blocks: readRange(json, 'blockNumber'),
      timestamps: readRange(json, 'timestamp'),
    }
  },
}

/** eth_sendRawTransactionConditional: op-geth's `--rollup.sequencertxconditionalenabled`. */
export function createConditionalMethods(
  modules: Pick<RpcModules, 'chain' | 'pool' | 'sequencer' | 'logger' | 'clock'>,
  options: Pick<RpcOptions, 'admitToPool' | 'txFeeCapWei' | 'allowUnprotected' | 'conditionalLookupsPerSecond'>,
): MethodTable {
  const { chain, clock } = modules
  const { conditionalLookupsPerSecond: perSecond } = options
  if (perSecond === undefined) return {}
  const lookups = new TokenBucket(clock, { perSecond, burst: BURST })
  return {
    eth_sendRawTransactionConditional: method([data, condition], async ([raw, wanted]) => {
      const cost = conditionCost(wanted)
      if (cost > MAX_COST) throw tooCostly(cost)
      const fault = conditionFault(wanted)
      if (fault !== undefined) throw rejected(`failed conditional validation: ${fault}`)
      if (!lookups.tryTake(cost, cost)) throw new JsonRpcError(TOO_COSTLY, `cost ${cost} rate limited`)
      const head = chain.head()
      const headProblem = blockProblem(wanted, head)
      if (headProblem !== undefined) throw rejected(`failed header check: ${headProblem}`)
      await checkState(chain, head, wanted, 'failed state check')
      // The parent's state must match too, so that the newest block's state gives the first caller no advantage.
      const parent = await chain.headerByHash(head.parentHash)
      if (parent !== undefined)
        await checkState(chain, parent, wanted, `failed parent block ${parent.hash} state check`)
      const transaction = { ...readTransaction(raw), condition: wanted }
      return send(modules, options, transaction)
    }),
  }
}

async function checkState(
  chain: ReadableChain,
  header: BlockHeader,
  wanted: TransactionCondition,
  what: string,
): Promise<void> {
  const state = await keptState(chain, header)
  const problem = stateProblem(wanted, {
    storageRoot: (address) => state.account(address)?.storageRoot ?? EMPTY_TRIE_ROOT,
    storage: state.storage,
  })
  if (problem !== undefined) throw rejected(`${what}: ${problem}`)
}

function readSlots(value: unknown): Record<Hex, Hex> {
  const slots: Record<Hex, Hex> = {}
  const entries = Object.entries(asObject(value, 'knownAccounts'))
  if (entries.length > MAX_COST) throw tooCostly(entries.length)
  for (const [slot, word] of entries) slots[readStorageSlot(slot)] = readStorageSlot(word)
  return slots
}

function readRange(json: JsonObject, name: 'blockNumber' | 'timestamp'): { min?: number; max?: number } {
  const bound = (end: 'Min' | 'Max') =>
    maybe(json[`${name}${end}`], (value) => readHexOrDecimal(value, `${name}${end}`))
  const [min, max] = [bound('Min'), bound('Max')]
  return { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) }
}

function rejected(message: string): JsonRpcError {
  return new JsonRpcError(REJECTED, message)
}

function tooCostly(cost: number): JsonRpcError {
  return new JsonRpcError(TOO_COSTLY, `conditional cost, ${cost}, exceeded max: ${MAX_COST}`)
}
