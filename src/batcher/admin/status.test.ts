import { describe, expect, it } from 'vitest'
import { type BatcherStatus, CostWindow, explainStatus } from './status.ts'

const well: BatcherStatus = {
  running: true,
  stopping: false,
  from: `0x${'33'.repeat(20)}`,
  waitsFor: undefined,
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

describe('why nothing lands', () => {
  it.each([
    { change: {}, why: 'all blocks that the rollup node has are on L1' },
    {
      change: { unsafe: 12 },
      why: 'all blocks that the rollup node has are on L1; it has yet to derive the last 3 blocks from there',
    },
    {
      change: { rollupNode: { lastAnswerMs: undefined, error: undefined } },
      why: 'the rollup node has not answered yet',
    },
    { change: { running: false }, why: 'the batcher is stopped; admin_startBatcher starts it' },
    {
      change: { running: false, firstUnsaved: 7 },
      why: 'the batcher is stopped, and L2 block 7 and those after it are not on L1; admin_startBatcher starts it',
    },
    { change: { stopping: true, channelsToConfirm: 2 }, why: 'stopping: 2 channels to be sent' },
    {
      change: { rollupNode: { lastAnswerMs: undefined, error: 'timed out' }, inFlight: [tx] },
      why: 'the rollup node cannot be used: timed out',
    },
    { change: { l1: { lastAnswerMs: 5, error: 'refused' } }, why: 'the L1 cannot be used: refused' },
    { change: { waitsFor: 'two transactions' }, why: 'nothing is loaded yet: two transactions' },
    {
      change: { inFlight: [tx], openChannel },
      why: `transaction ${hash} (nonce 4) is in no block after 30 s and 2 fee bumps (fee cap 3 gwei)`,
    },
    {
      change: { inFlight: [{ ...tx, bumps: 0 }] },
      why: `transaction ${hash} (nonce 4) was sent 30 s ago and waits for its block (fee cap 3 gwei)`,
    },
    {
      change: { inFlight: [{ ...tx, bumps: 0, missedBlocks: 3 }] },
      why: `transaction ${hash} (nonce 4) is in no block after 30 s and 0 fee bumps (fee cap 3 gwei); the L1 took it 3 blocks ago and made none with it`,
    },
    {
      change: { inFlight: [{ ...tx, missedBlocks: 0 }] },
      why: `transaction ${hash} (nonce 4) is in no block after 30 s and 2 fee bumps (fee cap 3 gwei); the L1 has made no block since it took the transaction`,
    },
    {
      change: { inFlight: [{ ...tx, minedIn: 66 }] },
      why: `transaction ${hash} (nonce 4) is in L1 block 66 and waits for confirmations (the L1 is at 70)`,
    },
    { change: { openChannel }, why: 'blocks 5 to 8 are in an open channel, which closes when it is full' },
    {
      change: { openChannel: { ...openChannel, closesAt } },
      why: 'blocks 5 to 8 are in an open channel, which closes when it is full, or at L1 block 77 (max channel duration reached; the L1 is at 70)',
    },
    {
      change: { inFlight: [{ ...tx, problem: 'txpool is full', bumps: 1 }] },
      why: `transaction ${hash} (nonce 4) is in no block after 30 s and 1 fee bump (fee cap 3 gwei): txpool is full`,
    },
    {
      change: { inFlight: [{ ...tx, problem: 'insufficient funds for gas * price + value: balance 5' }] },
      why: `the account 0x${'33'.repeat(20)} cannot pay for transaction ${hash} (nonce 4): insufficient funds for gas * price + value: balance 5`,
    },
    {
      change: { craftProblem: 'base fee is too high', channelsToConfirm: 1 },
      why: 'no transaction can be made: base fee is too high',
    },
    {
      change: { cancelling: { nonces: [4, 5], startedAtMs: 10_000, problem: undefined }, inFlight: [tx] },
      why: 'waiting for cancels: on the L1, 2 transactions in its pool (from nonce 4 on) must give way to empty ones, for 30 s now',
    },
    {
      change: { cancelling: { nonces: [], startedAtMs: 10_000, problem: 'refused' } },
      why: 'waiting for cancels: on the L1, what stands in its pool must give way to empty ones, for 30 s now; refused',
    },
    { change: { pendingBlocks: 3 }, why: '3 blocks to be put into a channel' },
    { change: { channelsToConfirm: 2 }, why: '2 channels to be sent' },
    {
      change: { channelsToConfirm: 1, sendError: 'failed to get tx into the mempool' },
      why: '1 channel to be sent; the last transaction was given up: failed to get tx into the mempool',
    },
  ])('$why', ({ change, why }) => {
    expect(explainStatus({ ...well, ...change }, 40_000)).toBe(why)
  })
})

it('costs are those of the last hour', () => {
  const costs = new CostWindow()
  costs.add(0, 100, 1_000_000_000n)
  costs.add(1_800_000, 50, 500_000_000n)
  expect(costs.sum(3_599_999)).toEqual({ transactions: 2, bytes: 150, costGwei: 1.5 })
  expect(costs.sum(3_600_000)).toEqual({ transactions: 1, bytes: 50, costGwei: 0.5 })
})
