import { expect, it } from 'vitest'
import { runCommand, unlessGiven } from '../testUtils/runCommand.ts'
import { createBatchSubmitterCommand } from './batchSubmitterCommand.ts'

const NOBODY = 'http://127.0.0.1:1'
const USUAL = [`--l1-eth-rpc=${NOBODY}`, `--l2-eth-rpc=${NOBODY}`, `--rollup-rpc=${NOBODY}`]

it.each([
  {
    id: 'too many blobs',
    args: ['--data-availability-type=blobs', '--target-num-frames=7'],
    problem: 'too many frames for blob transactions, max 6: 7',
  },
  { id: 'batch type', args: ['--batch-type=2'], problem: 'unknown batch type: 2' },
  { id: 'poll interval', args: ['--poll-interval=0'], problem: 'must set PollInterval' },
  { id: 'tx size', args: ['--max-l1-tx-size-bytes=1'], problem: 'MaxL1TxSize must be greater than 1' },
  {
    id: 'large tx',
    args: ['--max-l1-tx-size-bytes=131000'],
    problem: "geth's pool accepts transactions of at most 128 kB",
  },
  { id: 'frames', args: ['--target-num-frames=0'], problem: 'TargetNumFrames must be at least 1' },
  { id: 'frame numbers', args: ['--target-num-frames=65537'], problem: '--target-num-frames must be at most 65536' },
  { id: 'ratio', args: ['--compressor=ratio', '--approx-compr-ratio=0'], problem: 'invalid ApproxComprRatio 0' },
  { id: 'depth', args: ['--check-recent-txs-depth=129'], problem: 'cannot be set higher than 128' },
  { id: 'confirmations', args: ['--num-confirmations=0'], problem: 'NumConfirmations must not be 0' },
  {
    id: 'fees',
    args: ['--txmgr.min-basefee=0.5'],
    problem: 'minBaseFee smaller than minTipCap, have 500000000 < 1000000000',
  },
  {
    id: 'blob tip percentile',
    args: ['--txmgr.blob-tip-cap-percentile=101'],
    problem: 'BlobTipCapPercentile must be between 1 and 100, got 101',
  },
  { id: 'blob tip range', args: ['--txmgr.blob-tip-cap-range=0'], problem: 'BlobTipCapRange must be at least 1' },
  { id: 'resubmission', args: ['--resubmission-timeout=0'], problem: 'must provide ResubmissionTimeout' },
  {
    id: 'endpoint list',
    args: ['--rollup-rpc=http://a,http://b'],
    problem: 'number of rollup and eth URLs must match, have 2 and 1',
  },
  { id: 'no endpoint', args: ['--l2-eth-rpc='], problem: 'empty L2 RPC URL' },
  { id: 'no URL', args: ['--l1-eth-rpc=localhost'], problem: '--l1-eth-rpc is not a URL' },
  { id: 'websocket', args: ['--l1-eth-rpc=ws://localhost:1'], problem: 'expected an http or https address' },
  {
    id: 'half a signer',
    args: ['--signer.endpoint=http://a'],
    problem: '--signer.endpoint and --signer.address must both',
  },
  {
    id: 'key and signer',
    args: ['--signer.endpoint=http://a', `--signer.address=0x${'11'.repeat(20)}`, '--signer.tls.enabled=false'],
    problem: '--signer.endpoint cannot be used together with --private-key or --mnemonic',
  },
  {
    id: 'throttle thresholds',
    args: ['--throttle.unsafe-da-bytes-upper-threshold=5'],
    problem: 'must be greater than the lower threshold, have 5 and 3200000',
  },
  {
    id: 'two addresses by two flags',
    args: ['--rollup-rpc=http://a', '--rollup-rpc=http://b'],
    problem: 'number of rollup and eth URLs must match, have 2 and 1',
  },
  { id: 'alt-DA', args: ['--altda.enabled'], problem: '--altda.enabled' },
  { id: 'pid limits', args: ['--throttle.pid-output-max=0'], problem: 'PID OutputMax must be between 0 and 1' },
  { id: 'two keys', args: ['--mnemonic=a b c'], problem: '--private-key and --mnemonic cannot be used together' },
])('refuses bad input in one line: $id', async ({ args, problem }) => {
  const env = { DEVIUM_BATCH_SUBMITTER_PRIVATE_KEY: '11'.repeat(32) }
  const { code, stderr } = await runCommand(createBatchSubmitterCommand, [...unlessGiven(args, USUAL), ...args], env)
  expect(code).toBe(1)
  expect(stderr).toContain(problem)
  expect(stderr).toMatch(/^devium-batch-submitter: [^\n]*\n$/)
})
