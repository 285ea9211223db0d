import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import {
  createPublicClient,
  createWalletClient,
  defineChain,
  http,
  type PublicClient,
  parseAbi,
  parseEther,
  webSocket,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { chainConfig, getL2TransactionHashes, publicActionsL2, walletActionsL1 } from 'viem/op-stack'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statusOf } from '../../dashboard/statusSentence.ts'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { toQuantity } from '../../src/lib/hex.ts'
import { type Headers, postJson } from '../../src/lib/testUtils/httpRequest.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { createNodeClient } from '../../src/rpc/client/index.ts'
import type { NodeHealth } from '../../src/rpc/nodeHealth.ts'
import { ManagedProcess } from '../../testnet/process/managedProcess.ts'
import { callByCurl, type DescribedMethod, documentedMethods, problemOf } from '../support/documentedCalls.ts'
import {
  COMMAND_DOCUMENTS,
  createCommandRunner,
  documentedCommands,
  reasonNotToRun,
} from '../support/documentedCommands.ts'
import { castFolder, documentedSteps, takeSteps } from '../support/documentedSession.ts'
import { readJoinCommands } from '../support/joinCommands.ts'
import { libraryExamples } from '../support/libraryExamples.ts'
import { rollupNodeCalls } from '../support/mutatedRequests/calls.ts'
import { chainFacts } from '../support/mutatedRequests/run.ts'
import { commandExists, fillVariables, promQueries, seriesIn, startPrometheus } from '../support/prometheus.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

/** Optional series of the boards, by prefix, with the event that creates them. */
const SERIES_OF_EVENTS: Readonly<Record<string, string>> = {
  op_node_default_dropped_batches_total: 'a batch breaks a rule',
  op_node_default_p2p_discovery_dials_total: 'a node is looked for that is not connected already as a static peer',
}

const OUTPUT_ORACLE = parseAbi(['function latestBlockNumber() view returns (uint256)'])

const dir = mkdtempSync(join(tmpdir(), 'devium-e2e-'))
let testnet: RunningTestnet

async function rpc<T = unknown>(url: string, method: string, params: unknown[] = []): Promise<T> {
  const client = createPatientClient({ url })
  try {
    return (await client.request(method, params)) as T
  } finally {
    await client.close()
  }
}

interface Heads {
  unsafe_l2: { number: number; hash: string }
  safe_l2: { number: number; hash: string }
}
const heads = (rollupRpc: string) => rpc<Heads>(rollupRpc, 'devium_syncStatus')
const connected = async (rollupRpc: string) =>
  (await rpc<{ connected: number }>(rollupRpc, 'deviump2p_peerStats')).connected

/** Hashes of the blocks from 0 to `last`. */
async function blockHashes(ethRpc: string, last: number): Promise<unknown[]> {
  const client = createPatientClient({ url: ethRpc })
  try {
    const calls = Array.from({ length: last + 1 }, (_, number) => ({
      method: 'eth_getBlockByNumber',
      params: [`0x${number.toString(16)}`, false],
    }))
    const blocks = await client.batch(calls)
    return blocks.map((block) => (block !== null && typeof block === 'object' && 'hash' in block ? block.hash : block))
  } finally {
    await client.close()
  }
}

beforeAll(async () => {
  testnet = await startTestnet({ dir, args: ['--fail-fast=false'] })
})
afterAll(async () => {
  await testnet?.stop()
  rmSync(dir, { recursive: true, force: true })
})

function sequencer(): RunningTestnet['nodes'][number] {
  const [first] = testnet.nodes
  if (first === undefined) throw new Error('the testnet has no nodes')
  return first
}

// In this order: later tests stop, kill and restart what earlier ones use.
describe('a testnet', { shuffle: false }, () => {
  it('is ready with three connected nodes', async () => {
    expect(testnet.nodes.map(({ name }) => name)).toEqual(['sequencer', 'verifier1', 'verifier2'])
    // OP Mainnet's fork.
    expect(testnet.l2.forks).toEqual({ genesis: 'karst', later: [] })
    for (const { rollupRpc } of testnet.nodes) await expect.poll(() => connected(rollupRpc)).toBe(2)
    expect(await rpc(sequencer().rollupRpc, 'opp2p_self')).toMatchObject({ peerID: sequencer().peerId })
    const metrics = await (await fetch(sequencer().metrics)).text()
    for (const labels of ['rpc="engine-api",method="engine_', 'rpc="l1",method="eth_']) {
      expect(metrics).toContain(`op_node_default_rpc_client_requests_total{${labels}`)
    }
  })

  it('has nodes that find each other by discovery, with the sequencer as bootnode', async () => {
    const enrs = await Promise.all(
      testnet.nodes.map(({ rollupRpc }) => rpc<{ ENR: string }>(rollupRpc, 'opp2p_self').then(({ ENR }) => ENR)),
    )
    for (const enr of enrs) expect(enr).toMatch(/^enr:/)
    for (const [index, { rollupRpc }] of testnet.nodes.entries()) {
      const table = () => rpc<string[]>(rollupRpc, 'deviump2p_discoveryTable')
      const others = enrs.filter((_, other) => other !== index)
      await expect.poll(async () => (await table()).sort()).toEqual(others.sort())
    }
  })

  it.skipIf(!commandExists('prometheus'))(
    'is scraped by Prometheus, which has every series of the boards and evaluates the alerts (skipped without Prometheus)',
    async () => {
      const folder = join(import.meta.dirname, '../../docs/grafana')
      const hosts = (urls: string[]) => urls.map((url) => new URL(url).host)
      const nodes = hosts(testnet.nodes.map(({ metrics }) => metrics))
      const jobs = { node: nodes, batcher: hosts([testnet.batcher.metrics]), geth: hosts([sequencer().gethMetrics]) }
      const targets = Object.values(jobs).flat()
      const prometheus = await startPrometheus(jobs, join(folder, 'alerts.yml'))
      try {
        const query = (text: string) => prometheus.query(`query?query=${encodeURIComponent(fillVariables(text))}`)
        const up = { status: 'success', data: { result: targets.map(() => ({ value: [expect.anything(), '1'] })) } }
        await expect.poll(() => query('up').catch(() => undefined)).toMatchObject(up)
        const queries = readdirSync(folder).flatMap((file) =>
          promQueries(readFileSync(join(folder, file), 'utf8'), file),
        )
        for (const text of queries) expect(await query(text), text).toMatchObject({ status: 'success' })
        const named = [...new Set(queries.flatMap(seriesIn).map(({ name }) => name))]
        expect(named.length).toBeGreaterThan(60)
        const missing = async () => {
          const { data: known } = (await prometheus.query('label/__name__/values')) as { data: string[] }
          return named.filter((name) => !known.includes(name) && !(name in SERIES_OF_EVENTS))
        }
        await expect.poll(missing).toEqual([])
        const heads = await query('op_node_default_refs_number{layer="l2",type="l2_unsafe"} > 0')
        expect(heads).toMatchObject({ data: { result: nodes.map(() => expect.anything()) } })
        const rules = () => prometheus.query('rules').then((answer) => JSON.stringify(answer))
        await expect.poll(rules).toMatch(/"name":"NoGossip".*"health":"ok"/)
        expect(await rules()).not.toContain('"health":"err"')
      } finally {
        await prometheus.stop()
      }
    },
  )

  describe('its chain', () => {
    const [alice, bob] = [
      privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'),
      privateKeyToAccount('0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'),
    ]
    const nobody = '0x00000000000000000000000000000000000d3110'
    const l1Chain = () =>
      defineChain({
        id: testnet.l1.chainId,
        name: 'L1',
        nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
        rpcUrls: { default: { http: [testnet.l1.rpc] } },
        contracts: { multicall3: { address: '0xcA11bde05977b3631167028862bE2a173976CA11' } },
      })
    const l2Chain = () =>
      defineChain({
        ...chainConfig,
        id: testnet.l2.chainId,
        name: 'devium testnet',
        nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
        rpcUrls: { default: { http: [sequencer().ethRpc] } },
        sourceId: testnet.l1.chainId,
        contracts: {
          ...chainConfig.contracts,
          portal: { [testnet.l1.chainId]: { address: testnet.l1.contracts.OptimismPortal } },
          l1StandardBridge: { [testnet.l1.chainId]: { address: testnet.l1.contracts.L1StandardBridge } },
          l2OutputOracle: { [testnet.l1.chainId]: { address: testnet.l1.contracts.L2OutputOracle } },
        },
      })
    const l2Client = (url = sequencer().ethRpc) =>
      createPublicClient({ chain: l2Chain(), transport: http(url), pollingInterval: 200 })

    it('transfers ether on L2, sent to a verifier, seen on all nodes', async () => {
      const verifier = testnet.nodes[2]?.ethRpc ?? ''
      const wallet = createWalletClient({ account: alice, chain: l2Chain(), transport: http(verifier) })
      const hash = await wallet.sendTransaction({ to: nobody, value: parseEther('1.5') })
      const receipt = await l2Client().waitForTransactionReceipt({ hash, timeout: 30_000 })
      expect(receipt.status).toBe('success')
      for (const { ethRpc } of testnet.nodes) {
        await expect.poll(() => l2Client(ethRpc).getBalance({ address: nobody })).toBe(parseEther('1.5'))
        expect(await l2Client(ethRpc).getTransactionReceipt({ hash })).toEqual(receipt)
      }
      // The L1 data fee applies from the first transaction. This SystemConfig sets no operator fee.
      const { l1Fee, gasUsed, effectiveGasPrice, blockNumber } = receipt
      if (typeof l1Fee !== 'bigint') throw new Error('the receipt has no L1 fee')
      expect(l1Fee).toBeGreaterThan(0n)
      const paid = parseEther('1.5') + gasUsed * effectiveGasPrice + l1Fee
      const balanceAt = (blockNumber: bigint) => l2Client().getBalance({ address: alice.address, blockNumber })
      expect((await balanceAt(blockNumber - 1n)) - (await balanceAt(blockNumber))).toBe(paid)
    })

    it('serves pages of this machine, over HTTP and WebSocket', async () => {
      const { ethRpc, ethWs } = sequencer()
      const call = { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }
      const allowed = async (origin: string) =>
        (await postJson(ethRpc, { origin }, call)).headers['access-control-allow-origin']
      for (const page of ['http://localhost:5173', 'http://127.0.0.1:3000']) expect(await allowed(page)).toBe(page)
      expect(await allowed('https://evil.example')).toBeUndefined()

      const live = createPublicClient({ chain: l2Chain(), transport: webSocket(ethWs) })
      const block = await new Promise((resolve, reject) => {
        const unwatch = live.watchBlockNumber({
          onBlockNumber: (number) => {
            unwatch()
            resolve(number)
          },
          onError: reject,
        })
      })
      expect(block).toBeGreaterThan(0n)
      await (await live.transport.getRpcClient()).close()
    })

    it('deploys and calls a contract', async () => {
      const wallet = createWalletClient({ account: bob, chain: l2Chain(), transport: http(sequencer().ethRpc) })
      // Constructor: copies the ten bytes after it; contract: returns 42.
      const hash = await wallet.sendTransaction({ data: '0x600a600c600039600a6000f3602a60005260206000f3' })
      const { contractAddress, status } = await l2Client().waitForTransactionReceipt({ hash, timeout: 30_000 })
      expect(status).toBe('success')
      const { data } = await l2Client().call({ to: contractAddress ?? null })
      expect(BigInt(data ?? 0)).toBe(42n)
    })

    it('includes a deposit of the OptimismPortal on L2', async () => {
      const l1Client = createPublicClient({ chain: l1Chain(), transport: http(), pollingInterval: 200 })
      const wallet = createWalletClient({ account: alice, chain: l1Chain(), transport: http() }).extend(
        walletActionsL1(),
      )
      const recipient = '0x00000000000000000000000000000000000de905'
      const amount = { mint: parseEther('2'), value: parseEther('2') }
      const l2 = l2Client().extend(publicActionsL2())
      const deposit = await l2.buildDepositTransaction({ ...amount, to: recipient })
      // Earlier deposits determine the portal's charge, so an exact estimate may be too low one block later.
      const hash = await wallet.depositTransaction({ ...deposit, gas: 200_000n })
      const receipt = await l1Client.waitForTransactionReceipt({ hash, timeout: 30_000 })
      expect(receipt.status).toBe('success')
      const [l2Hash] = getL2TransactionHashes(receipt)
      if (l2Hash === undefined) throw new Error('the portal emitted no deposit')
      const l2Receipt = await l2Client().waitForTransactionReceipt({ hash: l2Hash, timeout: 30_000 })
      expect(l2Receipt.status).toBe('success')
      expect(await l2Client().getBalance({ address: recipient })).toBe(parseEther('2'))
    })

    it.skipIf(castFolder() === undefined)(
      'runs the commands of docs/dapps, with withdrawals (skipped without cast)',
      async () => {
        const pages = ['viem', 'foundry'].map(async (page) => {
          const folder = join(dir, `reader-${page}`)
          mkdirSync(folder)
          symlinkSync(dir, join(folder, 'devnet'))
          symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
          const path = [dirname(process.execPath), castFolder(), process.env.PATH].join(':')
          const steps = documentedSteps(`docs/dapps/${page}.md`)
          // The checkout has this package.
          return takeSteps(
            steps.filter((step) => step.kind === 'file' || step.command !== 'npm install viem'),
            folder,
            path,
          )
        })
        expect((await Promise.all(pages)).flat()).toEqual([])
      },
    )

    it("knows L1's base fee in the gas price oracle", async () => {
      const client: PublicClient = l2Client() as PublicClient
      const blockNumber = await client.getBlockNumber()
      const abi = parseAbi(['function l1BaseFee() view returns (uint256)', 'function number() view returns (uint64)'])
      const [oracle, l1Block] = [
        { address: '0x420000000000000000000000000000000000000F', abi, functionName: 'l1BaseFee', blockNumber },
        { address: '0x4200000000000000000000000000000000000015', abi, functionName: 'number', blockNumber },
      ] as const
      const l1Client = createPublicClient({ chain: l1Chain(), transport: http() })
      const origin = await l1Client.getBlock({ blockNumber: await client.readContract(l1Block) })
      const fee = await client.readContract(oracle)
      expect(fee).toBeGreaterThan(0n)
      expect(fee).toBe(origin.baseFeePerGas)
      // Since Isthmus the oracle also gives the operator fee, which is part of every estimate.
      const transaction = { account: alice.address, to: nobody, value: 1n } as const
      const l2 = l2Client().extend(publicActionsL2())
      expect(await l2.estimateOperatorFee(transaction)).toBe(0n)
      expect(await l2.estimateTotalFee(transaction)).toBeGreaterThan(21_000n)
    })
  })

  it('agrees on every block, and its safe head follows the unsafe head', async () => {
    const before = await heads(sequencer().rollupRpc)
    await expect
      .poll(async () => (await heads(sequencer().rollupRpc)).safe_l2.number)
      .toBeGreaterThan(before.safe_l2.number + 5)
    const all = await Promise.all(testnet.nodes.map(({ rollupRpc }) => heads(rollupRpc)))
    for (const { rollupRpc } of testnet.nodes) {
      const behind = async () => {
        const { safe_l2, unsafe_l2 } = await heads(rollupRpc)
        return unsafe_l2.number - safe_l2.number
      }
      await expect.poll(behind).toBeLessThanOrEqual(30)
    }
    const height = Math.min(...all.map(({ unsafe_l2 }) => unsafe_l2.number))
    const [expected, ...others] = await Promise.all(testnet.nodes.map(({ ethRpc }) => blockHashes(ethRpc, height)))
    expect(expected).toHaveLength(height + 1)
    expect(new Set(expected).size).toBe(height + 1)
    for (const hashes of others) expect(hashes).toEqual(expected)
  })

  it('prints no warnings or errors', () => {
    expect(testnet.complaints().slice(0, 10)).toEqual([])
  })

  describe('joined by a fourth node with nothing but join.txt', () => {
    let geth: ManagedProcess
    let node: ManagedProcess
    let rollupRpc = ''
    let ethRpc = ''
    let gethCommand = ''
    let nodeCommand = ''

    const start = (name: string, command: string) =>
      ManagedProcess.start({
        name,
        command: { binary: 'bash' },
        args: ['-c', `cd '${testnet.joinDir}' && exec ${command}`],
        env: { DEVIUM: join(process.cwd(), 'bin'), PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
        logPath: join(dir, 'logs-by-hand', `${name}.log`),
      })
    const caughtUp = async () => {
      const target = (await heads(sequencer().rollupRpc)).safe_l2
      await expect.poll(async () => (await heads(rollupRpc)).safe_l2.number).toBeGreaterThanOrEqual(target.number)
      const [mine, theirs] = await Promise.all([
        blockHashes(ethRpc, target.number),
        blockHashes(sequencer().ethRpc, target.number),
      ])
      expect(mine).toEqual(theirs)
    }
    const answers = () => until(() => heads(rollupRpc))

    beforeAll(async () => {
      const commands = readJoinCommands(join(testnet.joinDir, 'join.txt'))
      const find = (part: string) => {
        const found = commands.filter((command) => command.includes(part))
        expect(found, `commands with ${part}`).toHaveLength(1)
        return found[0] ?? ''
      }
      gethCommand = find('devium-geth.mjs --datadir')
      const further = ['rpc.corsdomain=https://ops.example', 'rpc.vhosts=node.example', 'safedb.path=safe-heads']
      const batcher = `dashboard.batcher=${testnet.batcher.adminRpc}`
      const flags = [...further, 'rpc.enable-admin', batcher].map((flag) => `--${flag}`)
      nodeCommand = `${find('devium--batcher.mjs')} ${flags.join(' ')}`
      const port = (command: string, flag: string) => new RegExp(`--${flag}=(\\d+)`).exec(command)?.[1]
      rollupRpc = `http://127.0.0.1:${port(nodeCommand, 'rpc.port')}`
      ethRpc = `http://127.0.0.1:${port(gethCommand, 'http.port')}`
      // The commands before the long-running programs are run unchanged.
      const preparation = commands.slice(0, commands.indexOf(gethCommand))
      expect(preparation.map((command) => command.split(' ')[0])).toEqual([
        'cd',
        expect.stringMatching(/^DEVIUM=/),
        'mkdir',
        '(umask',
        '$DEVIUM/devium-geth.mjs',
      ])
      await run(preparation.join(' && '))
      geth = start('joined-geth', gethCommand)
      node = start('joined-node', nodeCommand)
      await answers()
    })
    afterAll(() => {
      node?.kill()
      geth?.kill()
    })

    it('catches up and agrees', async () => {
      await caughtUp()
      await expect.poll(() => connected(rollupRpc)).toBe(1)
      const status = readJoinCommands(join(testnet.joinDir, 'join.txt')).find((command) =>
        command.includes('devium.mjs'),
      )
      const shown = await run(`DEVIUM='${join(process.cwd(), 'bin')}'; ${status}`)
      expect(shown).toMatch(/L2 safe +\d+/)
      // Blocks also arrive by gossip, so the node is ahead of L1.
      await expect
        .poll(async () => {
          const { unsafe_l2, safe_l2 } = await heads(rollupRpc)
          return unsafe_l2.number - safe_l2.number
        })
        .toBeGreaterThan(0)
    })

    it("accepts changes only from pages of the operator's origin, and only under its allowed host names", async () => {
      const call = (headers: Headers, method: string) =>
        postJson(rollupRpc, headers, { jsonrpc: '2.0', id: 1, method, params: [sequencer().peerId] })
      const ours = { origin: 'https://ops.example', host: 'node.example' }
      expect(JSON.parse((await call(ours, 'deviump2p_protectPeer')).text)).toMatchObject({ result: null })
      const foreign = await call({ ...ours, origin: 'https://evil.example' }, 'deviump2p_protectPeer')
      expect(foreign.headers).toMatchObject({ 'access-control-allow-origin': '*' })
      expect(JSON.parse(foreign.text).error.message).toContain('https://evil.example ')
      expect(await call({ ...ours, host: 'localhost' }, 'deviump2p_peerHistory')).toMatchObject({ status: 403 })
    })

    it.skipIf(!commandExists('curl'))(
      'answers curl for every method of docs/rpc.md as its schema says (skipped without curl)',
      async () => {
        await caughtUp()
        const facts = await chainFacts({ ethRpc, peerId: sequencer().peerId }, testnet, 'safe')
        const { methods } = await rpc<{ methods: DescribedMethod[] }>(rollupRpc, 'rpc_discover')
        expect(methods.map(({ name }) => name).sort()).toEqual(documentedMethods().sort())
        const calls = rollupNodeCalls(methods, { ...facts, peerAddress: sequencer().p2p })
        const ofSequencer = /^admin_(start|stop)Sequencer$|^admin_overrideLeader$|^admin_(setSdm|sdm)/
        // The runner does not control a node that joins by hand (see testnetCommands).
        const ofRunner = /^devium_testnetCommand$/
        const overWebSocket = /^devium_(un)?subscribe$/
        const ofLagoon = /^optimism_dependencySet$/
        const problems: unknown[] = []
        for (const [index, method] of methods.entries()) {
          const { name } = method
          if ([ofSequencer, ofRunner, overWebSocket, ofLagoon].some((left) => left.test(name))) continue
          // A node that joins by hand has no discovery.
          const url = name.endsWith('_discoveryTable') ? sequencer().rollupRpc : rollupRpc
          const result = await callByCurl(url, name, calls[index]?.params ?? [])
          problems.push(problemOf(method, result))
        }
        expect(problems.filter((problem) => problem !== undefined)).toEqual([])

        await expect(callByCurl(rollupRpc, 'optimism_dependencySet', [])).rejects.toThrow('not found')

        // Methods for a sequencer, in the order in which an operator calls them.
        const { rollupRpc: main } = sequencer()
        const head = await callByCurl(main, 'admin_stopSequencer', [])
        expect(head).toMatch(/^0x[0-9a-f]{64}$/)
        expect(await callByCurl(main, 'admin_sequencerActive', [])).toBe(false)
        expect(await callByCurl(main, 'admin_startSequencer', [head])).toBeNull()
        expect(await callByCurl(main, 'admin_sequencerActive', [])).toBe(true)
        expect(await callByCurl(main, 'admin_overrideLeader', [])).toBeNull()
        expect(await callByCurl(main, 'admin_setSdmPostExecOptIn', [true])).toBeNull()
        expect(await callByCurl(main, 'admin_sdmStatus', [])).toMatchObject({ postExecOptIn: true, effective: false })
        expect(await callByCurl(main, 'admin_setSdmPostExecOptIn', [false])).toBeNull()
      },
    )

    it('answers the typed client and viem', async () => {
      const client = createNodeClient({ url: rollupRpc.replace('http', 'ws') })
      const ended = new AbortController()
      try {
        // Execution clients keep only recent states.
        const { unsafe_l2: head } = await client.request('optimism_syncStatus', [])
        const number = toQuantity(BigInt(head.number))
        const [version, outputRoot] = await client.request('devium_outputAtBlock', [number])
        const output = await client.request('optimism_outputAtBlock', [number])
        expect([output.version, output.outputRoot]).toEqual([version, outputRoot])
        const id = await client.request('devium_subscribe', ['heads'])
        expect(await client.request('devium_unsubscribe', [id])).toBe(true)
        const heads = await new Promise<number>((resolve, reject) => {
          client.subscribe('heads', ({ unsafe_l2 }) => resolve(unsafe_l2.number), ended.signal).catch(reject)
        })
        expect(heads).toBeGreaterThan(0)

        const l2 = createPublicClient({ transport: http(ethRpc) }).extend(publicActionsL2())
        const block = await l2.getBlock({ blockNumber: BigInt(head.number) })
        expect(output.blockRef).toMatchObject({ hash: block.hash, number: head.number })
        const { storageHash } = await l2.getProof({
          address: '0x4200000000000000000000000000000000000016',
          storageKeys: [],
          blockNumber: BigInt(head.number),
        })
        expect(output.withdrawalStorageRoot).toBe(storageHash)
        const transfer = { account: `0x${'12'.repeat(20)}`, to: `0x${'34'.repeat(20)}` } as const
        const fees = { chain: { ...chainConfig, id: testnet.l2.chainId } as never }
        expect(await l2.getL1BaseFee(fees)).toBeGreaterThan(0n)
        expect(await l2.estimateL1Gas({ ...transfer, ...fees })).toBeGreaterThan(0n)
        expect(await l2.estimateL1Fee({ ...transfer, ...fees })).toBeGreaterThan(0n)
      } finally {
        ended.abort()
        await client.close()
      }
    })

    it('catches up and agrees after a kill', async () => {
      node.kill()
      geth.kill()
      await Promise.all([node.exited, geth.exited])
      geth = start('joined-geth', gethCommand)
      node = start('joined-node', nodeCommand)
      await answers()
      await caughtUp()
    })

    it('disconnects a blocked peer at once, also after a restart, and reconnects when it is unblocked', async () => {
      await expect.poll(() => connected(rollupRpc)).toBe(1)
      const { peerId } = sequencer()
      await rpc(rollupRpc, 'deviump2p_blockPeer', [peerId])
      await expect.poll(() => connected(rollupRpc)).toBe(0)

      expect(await node.stop('SIGINT', 15_000)).toBe(true)
      node = start('joined-node', nodeCommand)
      await answers()
      expect(await rpc(rollupRpc, 'deviump2p_listBlockedPeers')).toEqual([peerId])
      // Derivation from L1 needs no peer.
      await caughtUp()
      expect(await connected(rollupRpc)).toBe(0)

      await rpc(rollupRpc, 'deviump2p_unblockPeer', [peerId])
      await expect.poll(() => connected(rollupRpc)).toBe(1)
    })
  })

  it('runs every command of README and docs/operating/commands.md in an empty folder, except those in NOT_RUN', async () => {
    const runner = await createCommandRunner(testnet, join(dir, 'documents'))
    const problems: string[] = []
    const runAll = async (documents: readonly string[], peer: RunningTestnet['nodes'][number]) => {
      for (const document of documents) {
        for (const command of documentedCommands(document)) {
          if (reasonNotToRun(command) !== undefined) continue
          const problem = await runner.run(command, peer)
          if (problem !== undefined) problems.push(`${document}: ${problem}`)
        }
      }
    }
    try {
      const peers = testnet.nodes.slice(1)
      const lists =
        process.env.DEVIUM_DOCUMENTED_COMMANDS === 'all'
          ? COMMAND_DOCUMENTS
          : [['README.md', 'docs/operating/commands.md']]
      await Promise.all(lists.map((documents, index) => runAll(documents, peers[index] ?? sequencer())))
    } finally {
      await runner.stop()
    }
    expect(problems).toEqual([])
  })

  it('runs the documented example of devium/client', async () => {
    const example = join(dir, 'client.mts')
    const entry = new URL('../../src/rpc/client/index.ts', import.meta.url)
    writeFileSync(example, libraryExamples().get('client')?.replace('devium/client', entry.href) ?? '')
    const env = { ...process.env, NODE_RPC: sequencer().rollupRpc }
    await expect.poll(async () => (await rpc<NodeHealth>(env.NODE_RPC, 'devium_health')).state).toBe('healthy')
    const { stdout } = await promisify(execFile)(process.execPath, [example], { env })
    expect(stdout).toMatch(/^unsafe head \d+, safe head \d+\nhealthy: .*\.\n$/)
  })

  it('reports a stopped sequencer everywhere until it is started again', async () => {
    const [first, verifier] = testnet.nodes
    if (first === undefined || verifier === undefined) throw new Error('the testnet has no second node')
    const devium = async (...args: string[]) => {
      const child = spawn(process.execPath, [join(import.meta.dirname, '../../bin/devium.mjs'), ...args])
      let stdout = ''
      child.stdout.on('data', (chunk) => (stdout += chunk))
      const [code] = await once(child, 'close')
      return { code, stdout }
    }
    const verdict = (url: string) => rpc<NodeHealth>(url, 'devium_health')
    const ready = async (url: string) => {
      const answer = await fetch(`${url}/readyz`)
      return { status: answer.status, ...((await answer.json()) as Pick<NodeHealth, 'state'>) }
    }
    for (const { rollupRpc } of testnet.nodes) {
      await expect.poll(async () => (await verdict(rollupRpc)).state).toBe('healthy')
    }
    await rpc(first.rollupRpc, 'admin_stopSequencer')
    for (const { rollupRpc } of testnet.nodes) {
      await expect.poll(async () => (await verdict(rollupRpc)).state).toBe('stopped')
    }
    expect(await verdict(first.rollupRpc)).toMatchObject({
      state: 'stopped',
      text: expect.stringMatching(
        /^Sequencer is stopped\. An operator has stopped the sequencer\. .* since block \d+\.$/,
      ),
      causes: [{ code: 'sequencer-stopped', command: 'devium sequencer start' }],
      node: { name: 'sequencer', role: 'sequencer', chainId: '901', peerID: first.peerId },
    })
    for (const { rollupRpc } of [first, verifier]) {
      expect(await ready(rollupRpc)).toMatchObject({ status: 503, state: 'stopped' })
    }
    const shown = await devium('status', '--rpc', first.rollupRpc)
    expect(shown.code).toBe(3)
    const start = `devium sequencer start --rpc ${first.rollupRpc}`
    expect(shown.stdout).toMatch(new RegExp(`^Sequencer is stopped\\. An operator .*\\n {2}→ ${start}\\n`))
    const all = await devium('status', '--dir', dir)
    expect(all.code).toBe(3)
    for (const { name } of testnet.nodes) expect(all.stdout).toMatch(new RegExp(`\\n${name} +stopped `))
    for (const [words, opening] of [
      ['sequencer status', /^Sequencer is stopped\. An operator/],
      ['p2p health', /^Sequencer is stopped\. An operator/],
    ] as const) {
      expect((await devium(...words.split(' '), '--rpc', first.rollupRpc)).stdout).toMatch(opening)
    }
    // The page's first sentence.
    const known = { connectionState: 'open', lostAtMs: undefined, batcher: null, batcherProblem: undefined } as const
    const health = await verdict(verifier.rollupRpc)
    expect(statusOf({ ...known, name: verifier.name, health }, Date.now())).toMatchObject({
      tone: 'bad',
      text: expect.stringMatching(/^Verifier1 is stopped\. No block has arrived for \d+ s, since block \d+\. /),
    })

    await rpc(first.rollupRpc, 'admin_startSequencer')
    for (const { rollupRpc } of testnet.nodes) {
      await expect.poll(async () => (await verdict(rollupRpc)).state).toBe('healthy')
    }
    expect((await devium('status', '--dir', dir)).code).toBe(0)
  })

  it('delivers blocks around a broken link', async () => {
    const [, , verifier] = testnet.nodes
    if (verifier === undefined) throw new Error('the testnet has no third node')
    await rpc(verifier.rollupRpc, 'deviump2p_blockPeer', [sequencer().peerId])
    await expect.poll(() => connected(verifier.rollupRpc)).toBe(1)
    const { number } = (await heads(sequencer().rollupRpc)).unsafe_l2
    const lastGossiped = async () =>
      (await rpc<{ lastBlock: { number: number } | null }>(verifier.rollupRpc, 'deviump2p_health')).lastBlock?.number ??
      0
    await expect.poll(lastGossiped).toBeGreaterThan(number + 1)
    await rpc(verifier.rollupRpc, 'deviump2p_unblockPeer', [sequencer().peerId])
    await expect.poll(() => connected(verifier.rollupRpc)).toBe(2)
  })

  it('continues when programs are killed, and after their restart', async () => {
    const [, , verifier] = testnet.nodes
    if (verifier === undefined) throw new Error('the testnet has no third node')
    expect(testnet.events.filter(({ event }) => event === 'ended')).toEqual([])
    await testnet.kill('verifier2-node', 'devium--batcher', `${dir}/verifier2/`)
    await testnet.kill('verifier1-geth', '--authrpc.port', `${dir}/verifier1/`)
    await testnet.kill('batcher', 'devium-batch-submitter')
    const ended = testnet.events.filter((event) => event.event === 'ended')
    expect(ended).toHaveLength(3)
    for (const event of ended) expect(event).toMatchObject({ how: 'signal SIGKILL', lastLines: expect.any(Array) })
    const before = await heads(sequencer().rollupRpc)
    for (const program of ['verifier2-node', 'verifier1-geth', 'batcher', 'l1']) testnet.startAgain(program)
    const warnings = () => testnet.events.flatMap((event) => (event.event === 'warning' ? [event.message] : []))
    await expect.poll(warnings).toEqual(['standard input: l1 runs already'])
    // With its old key, which the other nodes know.
    const self = () => rpc(verifier.rollupRpc, 'opp2p_self').catch(() => undefined)
    await expect.poll(self).toMatchObject({ peerID: verifier.peerId })
    await expect.poll(() => connected(verifier.rollupRpc)).toBe(2)
    for (const { rollupRpc } of testnet.nodes) {
      const safe = async () => (await heads(rollupRpc)).safe_l2.number
      await expect.poll(safe).toBeGreaterThan(before.unsafe_l2.number)
    }
    testnet.events.length = 0
  })

  it('stops in order and continues the same chain', async () => {
    const height = (await heads(sequencer().rollupRpc)).safe_l2.number
    const before = await blockHashes(sequencer().ethRpc, height)
    expect(await testnet.stop()).toBe(0)
    const stopped = testnet.events.flatMap((event) => (event.event === 'stopped-part' ? [event.what] : []))
    expect(testnet.events.filter(({ event }) => event === 'warning' || event === 'ended')).toEqual([])
    const programs = ['node', 'node', 'node', 'geth', 'geth', 'geth', 'l1']
    expect(stopped.map((what) => what.replace(/^.*-/, ''))).toEqual(['batches saved to l1', 'batcher', ...programs])

    testnet = await startTestnet({ dir })
    expect(await blockHashes(sequencer().ethRpc, height)).toEqual(before)
    // New blocks are built, posted, derived and proposed as before, with those of the pause.
    for (const { rollupRpc } of testnet.nodes) {
      await expect.poll(async () => (await heads(rollupRpc)).safe_l2.number).toBeGreaterThan(height + 5)
    }
    const l1Client = createPublicClient({ transport: http(testnet.l1.rpc) })
    const oracle = { address: testnet.l1.contracts.L2OutputOracle, abi: OUTPUT_ORACLE } as const
    const proposed = () => l1Client.readContract({ ...oracle, functionName: 'latestBlockNumber' })
    await expect.poll(proposed).toBeGreaterThan(BigInt(height + 5))
    expect(testnet.complaints().filter((line) => line.startsWith('proposer'))).toEqual([])
  })
})

/** Returns the output of a shell script, which must succeed. */
function run(script: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', script], { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    child.on('exit', (code) => (code === 0 ? resolve(output) : reject(new Error(`exit code ${code}: ${output}`))))
  })
}
