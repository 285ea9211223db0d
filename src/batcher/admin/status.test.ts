import { describe, expect, it } from 'vitest'
import { type BatcherStatus, CostWindow, explainStatus, isHealthy } from './status.ts'

const healthy: BatcherStatus = {
  running: true,
  stopping: false,
  from: `0x${'33'.repeat(20)}`,
  waitsFor: undefined,
  loadError: undefined,
  safe: 9,
  unsafe: 9,
  lastLoaded: undefined,
  firstUnsaved: undefined,
  pendingBlocks: 0,
  heldBytes: 0,
  unsafeDaBytes: 0,
  openChannel: undefined,
  channelsToConfirm: 0,
  l1Head: 70,
  l1: { lastAnswerMs: 1, error: undefined },
  rollupNode: { lastAnswerMs: 1, error: undefined },
  inFlight: [],
  cancelling: undefined,
  craftProblem: undefined,
  sendError: undefined,
  lastHour: { transactions: 0, bytes: 0, costGwei: 0 },
  throttling: false,
}
const hash = `0x${'ab'.repeat(32)}` as const
const tx = {
  nonce: 4,
  hash,
  blobs: 1,
  startedAtMs: 10_000,
  bumps: 2,
  tipWei: 1n,
  feeCapWei: 3_000_000_000n,
  blobFeeCapWei: 1n,
  minedIn: undefined,
  missedBlocks: undefined,
  problem: undefined,
}
const openChannel = { id: hash, firstBlock: 5, lastBlock: 8, inputBytes: 9, closesAt: undefined } as const
const closesAt = { l1Block: 77, reason: 'max channel duration reached' }

describe('explainStatus', () => {
  it.each([
    { change: {}, why: 'all blocks of the rollup node are on L1' },
    {
      change: { unsafe: 12, lastLoaded: { number: 12, hash } },
      why: 'all blocks of the rollup node are on L1. The rollup node has not derived the last 3 blocks yet',
    },
    { change: { unsafe: 12 }, why: '3 blocks not loaded yet' },
    { change: { unsafe: 12, lastLoaded: { number: 11, hash } }, why: '1 block not loaded yet' },
    { change: { loadError: 'the L1 is unusable: refused', waitsFor: 'block 9' }, why: 'the L1 is unusable: refused' },
    {
      change: { rollupNode: { lastAnswerMs: undefined, error: undefined } },
      why: 'the rollup node has not answered yet',
    },
    { change: { running: false }, why: 'the batcher is stopped. To start it, call admin_startBatcher' },
    {
      change: { running: false, firstUnsaved: 7 },
      why: 'the batcher is stopped. L2 blocks from 7 on are not on L1. To start it, call admin_startBatcher',
    },
    { change: { stopping: true, channelsToConfirm: 2 }, why: 'stopping: 2 channels waiting to be sent' },
    {
      change: { rollupNode: { lastAnswerMs: undefined, error: 'timed out' }, inFlight: [tx] },
      why: 'the rollup node is unusable: timed out',
    },
    { change: { l1: { lastAnswerMs: 5, error: 'refused' } }, why: 'the L1 is unusable: refused' },
    { change: { waitsFor: 'two transactions' }, why: 'waiting before loading blocks: two transactions' },
    {
      change: { inFlight: [tx], openChannel },
      why: `transaction ${hash} (nonce 4) is not mined after 30 s and 2 fee bumps (fee cap 3 gwei)`,
    },
    {
      change: { inFlight: [{ ...tx, bumps: 0 }] },
      why: `transaction ${hash} (nonce 4) was sent 30 s ago and waits to be mined (fee cap 3 gwei)`,
    },
    {
      change: { inFlight: [{ ...tx, bumps: 0, missedBlocks: 3 }] },
      why: `transaction ${hash} (nonce 4) is not mined after 30 s and 0 fee bumps (fee cap 3 gwei). The L1 has produced 3 blocks without it`,
    },
    {
      change: { inFlight: [{ ...tx, missedBlocks: 0 }] },
      why: `transaction ${hash} (nonce 4) is not mined after 30 s and 2 fee bumps (fee cap 3 gwei). The L1 has produced no block since it accepted the transaction`,
    },
    {
      change: { inFlight: [{ ...tx, minedIn: 66 }] },
      why: `transaction ${hash} (nonce 4) is in L1 block 66 and waits for confirmations (the L1 is at block 70)`,
    },
    { change: { openChannel }, why: 'the open channel holds blocks 5 to 8. It closes when it is full' },
    {
      change: { openChannel: { ...openChannel, closesAt } },
      why: 'the open channel holds blocks 5 to 8. It closes when it is full, or at L1 block 77 (max channel duration reached; the L1 is at block 70)',
    },
    {
      change: { inFlight: [{ ...tx, problem: 'txpool is full', bumps: 1 }] },
      why: `transaction ${hash} (nonce 4) is not mined after 30 s and 1 fee bump (fee cap 3 gwei): txpool is full`,
    },
    {
      change: { inFlight: [{ ...tx, problem: 'insufficient funds for gas * price + value: balance 5' }] },
      why: `the account 0x${'33'.repeat(20)} cannot pay for transaction ${hash} (nonce 4): insufficient funds for gas * price + value: balance 5`,
    },
    {
      change: { craftProblem: 'base fee is too high', channelsToConfirm: 1 },
      why: 'the next transaction cannot be created: base fee is too high',
    },
    {
      change: { cancelling: { nonces: [4, 5], startedAtMs: 10_000, problem: undefined }, inFlight: [tx] },
      why: "replacing 2 pending transactions (from nonce 4 on) in the L1's pool by empty ones for 30 s",
    },
    {
      change: { cancelling: { nonces: [], startedAtMs: 10_000, problem: 'refused' } },
      why: "replacing pending transactions in the L1's pool by empty ones for 30 s: refused",
    },
    { change: { pendingBlocks: 3 }, why: '3 blocks waiting for a channel' },
    { change: { channelsToConfirm: 2 }, why: '2 channels waiting to be sent' },
    {
      change: { channelsToConfirm: 1, sendError: 'failed to get tx into the mempool' },
      why: '1 channel waiting to be sent. The last transaction was abandoned: failed to get tx into the mempool',
    },
  ])('$why', ({ change, why }) => {
    expect(explainStatus({ ...healthy, ...change }, 40_000)).toBe(why)
  })
})

it('isHealthy is false while blocks cannot be loaded', () => {
  expect(isHealthy(healthy)).toBe(true)
  expect(isHealthy({ ...healthy, loadError: 'refused' })).toBe(false)
})

it('CostWindow sums the costs of the last hour', () => {
  const costs = new CostWindow()
  costs.add(0, 100, 1_000_000_000n)
  costs.add(1_800_000, 50, 500_000_000n)
  expect(costs.sum(3_599_999)).toEqual({ transactions: 2, bytes: 150, costGwei: 1.5 })
  expect(costs.sum(3_600_000)).toEqual({ transactions: 1, bytes: 50, costGwei: 0.5 })
})
