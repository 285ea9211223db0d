import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import { toHex } from '../../lib/hex.ts'
import { type ExecutionNode, startExecutionNode } from '../testUtils/executionNode.ts'
import { loadRecordedRpc } from '../testUtils/recordedRpc.ts'
import { DEV_KEYS, signTransaction } from '../testUtils/signTransaction.ts'

const { genesis } = loadRecordedRpc('holocene-span-brotli-calldata')

describe('a node that is not the sequencer', () => {
  let verifier: ExecutionNode
  let answer: () => Promise<unknown>

  beforeAll(async () => {
    verifier = await startExecutionNode(genesis, { sequencer: { request: () => answer() } })
  })
  afterAll(() => verifier.close())
  const transaction = signTransaction(DEV_KEYS[0])
  const forward = () => verifier.eth.request('eth_sendRawTransaction', [toHex(transaction.raw)])

  it("returns the sequencer's success, and keeps no transaction", async () => {
    answer = async () => transaction.hash
    expect(await forward()).toBe(transaction.hash)
    expect(verifier.pool.status().pending).toBe(0)
  })

  it("returns the sequencer's error with its code", async () => {
    answer = () => Promise.reject(new JsonRpcError(-32000, 'nonce too low: next nonce 5, tx nonce 0'))
    await expect(forward()).rejects.toMatchObject({
      rpcCode: -32000,
      message: 'nonce too low: next nonce 5, tx nonce 0',
    })
  })

  it('reports an unreachable sequencer', async () => {
    answer = () => Promise.reject(new Error('connect ECONNREFUSED'))
    await expect(forward()).rejects.toMatchObject({
      rpcCode: -32000,
      message: "failed to forward tx to sequencer, please try again. Error message: 'connect ECONNREFUSED'",
    })
  })
})
