import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { JsonRpcError } from '../../src/jsonRpc/types.ts'
import { bytesToBigInt } from '../../src/lib/bytes.ts'
import { keccak256Hex } from '../../src/lib/hash.ts'
import { fromHex, toQuantity } from '../../src/lib/hex.ts'
import { decodeRlp, rlpBytes, rlpList } from '../../src/lib/rlp.ts'
import { listen } from '../../src/lib/testUtils/listen.ts'

/** The faults. Shares are from 0 to 1. */
export interface L1Faults {
  /** Share of requests with an error, an HTTP error or a broken connection. */
  failing: number
  /** Maximum delay of a request. */
  delayMs: number
  /** Share of receipts that are reported as missing. */
  droppedReceipts: number
  /** Share of transactions that are accepted and lost. */
  lostTransactions: number
  poolFull: boolean
  /** Blob transactions that pay less are accepted and wait. Wei per blob gas. */
  blobBaseFeeWei: bigint
}

export const NO_FAULTS: L1Faults = {
  failing: 0,
  delayMs: 0,
  droppedReceipts: 0,
  lostTransactions: 0,
  poolFull: false,
  blobBaseFeeWei: 1_000_000_000n,
}

interface Call {
  id: unknown
  method: string
  params: unknown[]
}

interface RawTx {
  raw: string
  kind: 'blobs' | 'calldata'
  nonce: number
  blobFeeCap: bigint
}

/**
 * A faulty JSON-RPC in front of a real L1. It also enforces two rules of geth's pools that Anvil lacks. No account has
 * transactions of both kinds, and a blob transaction waits until it pays enough.
 */
export class FaultyL1 {
  faults: L1Faults = NO_FAULTS
  readonly counts: Record<string, number> = {}
  private readonly l1: RpcClient
  private readonly account: string
  private readonly random: () => number
  private readonly server = createServer((request, response) => void this.serve(request, response))
  /** Waiting blob transactions, by nonce. */
  private readonly waiting = new Map<number, RawTx>()
  /** Kinds of forwarded transactions, by nonce. */
  private readonly kinds = new Map<number, RawTx['kind']>()
  url = ''
  private closeServer = async (): Promise<void> => {}

  /** @param account the sender of the transactions */
  constructor(l1Url: string, account: string, random: () => number) {
    this.l1 = createPatientClient({ url: l1Url })
    this.account = account
    this.random = random
  }

  async start(): Promise<void> {
    const { url, close } = await listen(this.server)
    this.url = url
    this.closeServer = close
  }

  async stop(): Promise<void> {
    await this.closeServer()
    await this.l1.close()
  }

  /** Sets the faults, and forwards blob transactions that now pay enough. */
  async setFaults(faults: Partial<L1Faults>): Promise<void> {
    this.faults = { ...NO_FAULTS, ...faults }
    for (const [nonce, tx] of this.waiting) {
      if (tx.blobFeeCap < this.faults.blobBaseFeeWei) continue
      this.waiting.delete(nonce)
      await this.l1.request('eth_sendRawTransaction', [tx.raw]).catch(() => {})
    }
  }

  private draw(share: number): boolean {
    return this.random() < share
  }

  private count(fault: string): void {
    this.counts[fault] = (this.counts[fault] ?? 0) + 1
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { failing, delayMs } = this.faults
    if (delayMs > 0) {
      this.count('delayed')
      await delay(delayMs * this.random())
    }
    if (this.draw(failing)) {
      this.count('failed')
      const kind = Math.floor(3 * this.random())
      if (kind === 0) return void request.socket.destroy()
      if (kind === 1) return void response.writeHead(502).end('<html>Bad Gateway</html>')
      return void response
        .setHeader('content-type', 'application/json')
        .end('{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"header not found"}}')
    }
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString())
    const answer = Array.isArray(body)
      ? await Promise.all((body as Call[]).map((call) => this.answer(call)))
      : await this.answer(body as Call)
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
  }

  private async answer(call: Call): Promise<object> {
    const { id } = call
    try {
      return { jsonrpc: '2.0', id, result: await this.result(call) }
    } catch (error) {
      const code = error instanceof JsonRpcError ? error.rpcCode : -32603
      return { jsonrpc: '2.0', id, error: { code, message: error instanceof Error ? error.message : String(error) } }
    }
  }

  private async result({ method, params }: Call): Promise<unknown> {
    const { l1, faults } = this
    if (method === 'eth_blobBaseFee') return toQuantity(faults.blobBaseFeeWei)
    if (method === 'eth_sendRawTransaction') return this.send(String(params[0]))
    if (method === 'eth_getTransactionReceipt' && this.draw(faults.droppedReceipts)) {
      this.count('receipt dropped')
      return null
    }
    const result = await l1.request(method, params)
    if (method !== 'eth_getTransactionCount' || params[1] !== 'pending') return result
    let nonce = Number(result)
    while (this.waiting.has(nonce)) nonce++
    return toQuantity(nonce)
  }

  private async send(raw: string): Promise<unknown> {
    const { l1, faults, waiting, kinds } = this
    const tx = readTx(raw)
    if (faults.poolFull) {
      this.count('pool full')
      throw new JsonRpcError(-32000, 'txpool is full')
    }
    const latest = Number(await l1.request('eth_getTransactionCount', [this.account, 'latest']))
    for (const nonce of kinds.keys()) if (nonce < latest) kinds.delete(nonce)
    for (const nonce of waiting.keys()) if (nonce < latest) waiting.delete(nonce)
    const others = [...kinds].filter(([, kind]) => kind !== tx.kind)
    if (others.length > 0) {
      this.count('already reserved')
      throw new JsonRpcError(-32000, 'address already reserved')
    }
    if (this.draw(faults.lostTransactions)) {
      this.count('transaction lost')
      return keccak256Hex(fromHex(raw))
    }
    if (tx.blobFeeCap >= faults.blobBaseFeeWei) {
      const hash = await l1.request('eth_sendRawTransaction', [raw])
      kinds.set(tx.nonce, tx.kind)
      waiting.delete(tx.nonce)
      return hash
    }
    const before = waiting.get(tx.nonce)
    if (before !== undefined && tx.blobFeeCap < 2n * before.blobFeeCap)
      throw new JsonRpcError(-32000, before.raw === raw ? 'already known' : 'replacement transaction underpriced')
    this.count('blob fee too low')
    kinds.set(tx.nonce, tx.kind)
    waiting.set(tx.nonce, tx)
    return keccak256Hex(fromHex(raw))
  }
}

function readTx(raw: string): RawTx {
  const bytes = fromHex(raw)
  const isBlob = bytes[0] === 3
  let body = decodeRlp(bytes.subarray(1))
  // In network form the transaction comes first, then its blobs.
  if (isBlob) [body = []] = rlpList(body, 'blob transaction') as [typeof body]
  const fields = rlpList(body, 'transaction')
  const number = (index: number) => bytesToBigInt(rlpBytes(fields[index] ?? new Uint8Array(), 'field'))
  return {
    raw,
    kind: isBlob ? 'blobs' : 'calldata',
    nonce: Number(number(1)),
    blobFeeCap: isBlob ? number(9) : 2n ** 64n,
  }
}
