import { invalidParams, JsonRpcError, RPC_INTERNAL_ERROR, RPC_INVALID_PARAMS } from '../../../jsonRpc/types.ts'
import { normalizeHex, toHex, toQuantity } from '../../../lib/hex.ts'
import { asObject } from '../../../lib/jsonReader.ts'
import type { ReadableChain } from '../../chain/chainView.ts'
import type { CallProblem } from '../../chain/simulation/callGas.ts'
import { MAX_SIMULATED_BLOCKS } from '../../chain/simulation/simulationPlan.ts'
import type { SimulatedBlock, SimulatedCall, SimulationBlock } from '../../chain/simulation/types.ts'
import { hasCode } from '../../errors.ts'
import { REVERTED } from '../../evm/interpreter/failures.ts'
import { AnswerBudget } from '../../tracing/answerBudget.ts'
import { requireHeader } from '../blockLookup.ts'
import { type CallArguments, callArguments, checkCall, readBlockOverrides, stateOverrides } from '../callArguments.ts'
import type { MethodTable } from '../context.ts'
import { serverError } from '../errors.ts'
import { formatBlock } from '../format/formatBlock.ts'
import { formatLog } from '../format/formatReceipt.ts'
import type { JsonRecord } from '../format/quantities.ts'
import type { RpcOptions } from '../options.ts'
import { blockSelector, flag, maybe, method, type Param, readArray } from '../params.ts'
import { revertError } from '../revert.ts'

/** Code of a call that failed other than by REVERT (execution-apis, eth_simulateV1). */
const VM_ERROR = -32015
const CLIENT_LIMIT_EXCEEDED = -38026

/** Codes of execution-apis, as in geth. */
const CODES = {
  'nonce-too-low': -38010,
  'nonce-too-high': -38011,
  'intrinsic-gas': -38013,
  'insufficient-funds': -38014,
  'block-gas-limit': -38015,
  'block-number': -38020,
  'block-timestamp': -38021,
  'init-code-size': -38025,
  'too-many-blocks': CLIENT_LIMIT_EXCEEDED,
  fees: RPC_INVALID_PARAMS,
  'floor-gas': RPC_INTERNAL_ERROR,
  'set-code': RPC_INTERNAL_ERROR,
} satisfies Record<CallProblem, number>
const CODE_OF = new Map<unknown, number>(Object.entries(CODES))

interface RequestedBlock extends Omit<SimulationBlock, 'calls'> {
  calls: CallArguments[]
}

interface Requested {
  blocks: RequestedBlock[]
  isValidated: boolean
  showsTransfers: boolean
  showsTransactions: boolean
}

/** geth's simOpts. */
const simulation: Param<Requested> = {
  parse(value) {
    const json = asObject(value, 'simulation')
    const blocks = maybe(json.blockStateCalls, (given) => readArray(given, 'blockStateCalls', Number.POSITIVE_INFINITY))
    if ((blocks ?? []).length > MAX_SIMULATED_BLOCKS) throw new JsonRpcError(CLIENT_LIMIT_EXCEEDED, 'too many blocks')
    return {
      blocks: (blocks ?? []).map(readBlock),
      isValidated: maybe(json.validation, flag.parse) ?? false,
      showsTransfers: maybe(json.traceTransfers, flag.parse) ?? false,
      showsTransactions: maybe(json.returnFullTransactions, flag.parse) ?? false,
    }
  },
}

/** eth_simulateV1: blocks of calls on top of a block, with state and block overrides. */
export function createSimulateMethods(
  chain: ReadableChain,
  { callGasCap }: Pick<RpcOptions, 'callGasCap'>,
): MethodTable {
  return {
    eth_simulateV1: method([simulation, blockSelector], async ([requested, selector], { signal }) => {
      const { blocks, showsTransactions, ...options } = requested
      if (blocks.length === 0) throw invalidParams('empty input')
      const { hash } = await requireHeader(chain, selector)
      const request = {
        ...options,
        blocks: blocks.map((block) => ({
          ...block,
          calls: block.calls.map((call) => checkCall(call, chain.config.chainId)),
        })),
        gasCap: callGasCap === 0n ? undefined : callGasCap,
        budget: new AnswerBudget('simulate fewer calls'),
      }
      const simulated = await chain.simulateBlocks(request, hash, signal).catch((error: unknown) => {
        throw toAnswer(error)
      })
      return simulated.map((block) => formatSimulated(block, showsTransactions))
    }),
  }
}

function readBlock(value: unknown): RequestedBlock {
  const json = asObject(value, 'blockStateCalls')
  const block = maybe(json.blockOverrides, (given) => asObject(given, 'block overrides')) ?? {}
  const withdrawals = maybe(block.withdrawals, (given) => readArray(given, 'withdrawals', Number.POSITIVE_INFINITY))
  if (withdrawals !== undefined && withdrawals.length > 0)
    throw serverError('blocks of an OP chain have no withdrawals')
  const parentBeaconBlockRoot = maybe(block.beaconRoot, (given) => normalizeHex(given, 32, 'beaconRoot'))
  const calls = maybe(json.calls, (given) => readArray(given, 'calls', Number.POSITIVE_INFINITY)) ?? []
  return {
    block: { ...readBlockOverrides(block), ...(parentBeaconBlockRoot === undefined ? {} : { parentBeaconBlockRoot }) },
    overrides: maybe(json.stateOverrides, stateOverrides.parse) ?? {},
    calls: calls.map((call) => callArguments.parse(asObject(call, 'calls'))),
  }
}

function toAnswer(error: unknown): unknown {
  if (!hasCode(error, 'execution-failed')) return error
  const code = CODE_OF.get(error.details.problem)
  return code === undefined ? serverError(error.message) : new JsonRpcError(code, error.message)
}

function formatSimulated({ block, calls }: SimulatedBlock, showsTransactions: boolean): JsonRecord {
  const { header, transactions } = block
  const place = { blockHash: header.hash, blockNumber: header.number, blockTimestamp: header.timestamp }
  return {
    ...formatBlock(block, showsTransactions ? [] : undefined),
    calls: calls.map((call, transactionIndex) => {
      const transactionHash = transactions[transactionIndex]?.hash ?? header.hash
      const origin = { ...place, transactionHash, transactionIndex }
      return {
        returnData: call.failure === undefined ? toHex(call.returnData) : '0x',
        logs: call.logs.map((log) => formatLog(log, origin)),
        gasUsed: toQuantity(call.gasUsed),
        maxUsedGas: toQuantity(call.maxUsedGas),
        status: call.failure === undefined ? '0x1' : '0x0',
        ...formatFailure(call),
      }
    }),
  }
}

function formatFailure({ failure, returnData }: SimulatedCall): JsonRecord {
  if (failure === undefined) return {}
  if (failure !== REVERTED) return { error: { message: failure, code: VM_ERROR } }
  const { rpcCode: code, message } = revertError(returnData)
  return { error: { message, code, data: toHex(returnData) } }
}
