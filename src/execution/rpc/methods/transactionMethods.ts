import type { RpcContext } from '../../../jsonRpc/callContext.ts'
import type { RpcHandler } from '../../../jsonRpc/server.ts'
import { JsonRpcError } from '../../../jsonRpc/types.ts'
import { describeError } from '../../../lib/errors.ts'
import { type Hex, toHex, toQuantity } from '../../../lib/hex.ts'
import { createSemaphore } from '../../../lib/semaphore.ts'
import { untilAborted } from '../../../lib/untilAborted.ts'
import { yieldToLoop } from '../../../lib/yieldToLoop.ts'
import { decodeSignedTransaction } from '../../../rollup/protocol/index.ts'
import type { SignedTransaction, TransactionCondition } from '../../primitives/block.ts'
import { TxPoolError } from '../../txPool/index.ts'
import { TX_MAX_BYTES } from '../../txPool/options.ts'
import type { MethodTable, RpcModules } from '../context.ts'
import { serverError } from '../errors.ts'
import { formatTransaction } from '../format/formatTransaction.ts'
import { createInclusionWatch } from '../inclusionWatch.ts'
import type { RpcOptions } from '../options.ts'
import * as param from '../params.ts'
import { method } from '../params.ts'

type Modules = Pick<RpcModules, 'chain' | 'pool' | 'sequencer' | 'logger' | 'clock'>
type Options = Pick<RpcOptions, 'admitToPool' | 'txFeeCapWei' | 'allowUnprotected'>

/** geth's default for eth_sendRawTransactionSync. Its maximum is a minute, after which a call ends here. */
const DEFAULT_WAIT_MS = 20_000
const MAX_WAIT_MS = 50_000
/** EIP-7966. */
const NOT_MINED = 4

const waitTime: param.Param<number> = { parse: (value) => param.readInteger(value, 'timeout'), fallback: () => 0 }

/** eth_ methods that send transactions and read pool transactions. `mined` are the methods that read blocks. */
export function createTransactionMethods(modules: Modules, options: Options, mined: MethodTable): MethodTable {
  const { chain, pool, clock } = modules
  /** A transaction that is not in a block may be in the pool. */
  const pooled = (
    ofBlocks: RpcHandler | undefined,
    absent: null | '0x',
    show: (waiting: SignedTransaction) => unknown,
  ) =>
    method([param.hash], ([hash], context) => {
      if (chain.headerOfTransaction(hash) !== undefined) return ofBlocks?.([hash], context)
      const waiting = pool.get(hash)
      return waiting === undefined ? absent : show(waiting)
    })
  const decoding = createSemaphore(1)
  const submit = async (raw: Uint8Array) => {
    // Recovering the senders of a whole batch at once would block the event loop.
    const transaction = await decoding.run(async () => {
      await yieldToLoop('answer')
      return readTransaction(raw)
    })
    return send(modules, options, transaction)
  }
  const watchInclusion = createInclusionWatch(chain)
  const untilMined = async (hash: Hex, waitMs: number, context: RpcContext) => {
    const { promise: mining, resolve, reject } = Promise.withResolvers<unknown>()
    const look = () =>
      void (async () => mined.eth_getTransactionReceipt?.([hash], context))().then((receipt) => {
        if (receipt !== null) resolve(receipt)
      }, reject)
    const endWatch = watchInclusion(hash, look)
    const cancel = clock.setTimeout(() => reject(notMined(hash, waitMs)), waitMs)
    try {
      look()
      return await untilAborted(mining, context.signal)
    } finally {
      cancel()
      endWatch()
    }
  }
  return {
    eth_getTransactionByHash: pooled(mined.eth_getTransactionByHash, null, (waiting) =>
      formatTransaction(waiting, undefined),
    ),
    eth_getRawTransactionByHash: pooled(mined.eth_getRawTransactionByHash, '0x', ({ raw }) => toHex(raw)),
    debug_getRawTransaction: pooled(mined.debug_getRawTransaction, '0x', ({ raw }) => toHex(raw)),
    eth_sendRawTransaction: method([param.data], ([raw]) => submit(raw)),
    // EIP-7966, with geth's reading: a transaction after a nonce gap is pooled, and 0 stands for the default wait.
    eth_sendRawTransactionSync: method([param.data, waitTime], async ([raw, waitMs], context) =>
      untilMined(await submit(raw), Math.min(waitMs || DEFAULT_WAIT_MS, MAX_WAIT_MS), context),
    ),
    // This node holds no keys: wallets sign.
    eth_accounts: method([], () => []),
    eth_pendingTransactions: method([], () => []),
  }
}

export async function send(
  modules: Omit<Modules, 'clock'>,
  options: Options,
  transaction: SignedTransaction,
): Promise<Hex> {
  const { pool, sequencer, logger } = modules
  checkFee(transaction, options.txFeeCapWei)
  if (transaction.chainId === undefined && !options.allowUnprotected) {
    throw serverError('only replay-protected (EIP-155) transactions allowed over RPC')
  }
  const { hash, from, nonce, to } = transaction
  if (sequencer === undefined) {
    await pool.add(transaction)
  } else {
    await forward(sequencer, transaction)
    if (options.admitToPool) {
      await pool.add(transaction).catch((error: unknown) => {
        logger.debug('The sequencer accepted a transaction that the local pool refused', {
          hash,
          err: describeError(error),
        })
      })
    }
  }
  logger.debug('Submitted transaction', { hash, from, nonce, to: to ?? 'contract creation' })
  return hash
}

export function readTransaction(raw: Uint8Array): SignedTransaction {
  const type = raw[0]
  if (type === undefined || raw.length === 1) throw serverError('typed transaction too short')
  // Blob transactions and deposits come only from L1. Legacy transactions begin with an RLP list.
  if (raw.length > TX_MAX_BYTES) {
    throw new TxPoolError('oversized-data', `transaction size ${raw.length}, limit ${TX_MAX_BYTES}`)
  }
  if (type < 0xc0 && type !== 1 && type !== 2 && type !== 4) throw new TxPoolError('type-not-supported')
  try {
    return decodeSignedTransaction(raw)
  } catch (error) {
    throw serverError(describeError(error))
  }
}

function notMined(hash: Hex, waitMs: number): JsonRpcError {
  const message = `The transaction was added to the transaction pool but wasn't processed in ${waitMs / 1000}s`
  return new JsonRpcError(NOT_MINED, message, { data: hash })
}

function formatCondition({ knownAccounts, blocks, timestamps }: TransactionCondition): object {
  const show = (value: number | undefined) => (value === undefined ? undefined : toQuantity(value))
  return {
    knownAccounts,
    blockNumberMin: show(blocks.min),
    blockNumberMax: show(blocks.max),
    timestampMin: show(timestamps.min),
    timestampMax: show(timestamps.max),
  }
}

function checkFee({ maxFeePerGas, gasLimit }: SignedTransaction, capWei: bigint): void {
  const feeWei = maxFeePerGas * gasLimit
  if (capWei === 0n || feeWei <= capWei) return
  const ether = (wei: bigint) => (Number(wei / 10n ** 10n) / 1e8).toFixed(2)
  throw serverError(`tx fee (${ether(feeWei)} ether) exceeds the configured cap (${ether(capWei)} ether)`)
}

/** The sequencer's errors are passed to the wallet unchanged. */
async function forward(
  sequencer: NonNullable<Modules['sequencer']>,
  { raw, condition }: SignedTransaction,
): Promise<void> {
  try {
    if (condition === undefined) await sequencer.request('eth_sendRawTransaction', [toHex(raw)])
    else await sequencer.request('eth_sendRawTransactionConditional', [toHex(raw), formatCondition(condition)])
  } catch (error) {
    if (error instanceof JsonRpcError) throw error
    throw serverError(`failed to forward tx to sequencer, please try again. Error message: '${describeError(error)}'`)
  }
}
