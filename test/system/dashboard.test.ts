import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { WAIT_LIMIT_MS } from '../../src/lib/testUtils/until.ts'
import { blocksTopic } from '../../src/p2p/base/topics.ts'
import { type RawPeer, startRawPeer } from '../../src/p2p/testUtils/rawPeer.ts'
import { findChromium, startChromium } from '../support/chromium.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

const chromium = findChromium()
if (chromium === undefined) console.warn('No Chromium is installed: the page is not tested (DEVIUM_CHROMIUM names one)')

/** Generous for a busy machine. */
const MARKUP = '<img src=x onerror="document.title=1"><b>agent</b>'

// In this order: each test continues with the page and the testnet of the one before.
describe.skipIf(chromium === undefined)('the dashboard of a testnet with a hostile peer', { shuffle: false }, () => {
  let net: RunningTestnet
  let browser: Browser
  let page: Page
  let hostile: RawPeer
  let guest: RawPeer
  /** Console messages, and the targets of the page's requests. */
  const complaints: string[] = []
  const hosts = new Set<string>()

  beforeAll(async () => {
    const nodes = Number(process.env.DEVIUM_BROWSER_NODES ?? 2)
    ;[net, browser] = await Promise.all([startTestnet({ nodes }), startChromium(chromium ?? '')])
    const topic = blocksTopic(BigInt(net.l2.chainId), 4)
    ;[hostile, guest] = await Promise.all([startRawPeer([topic], { userAgent: MARKUP }), startRawPeer([topic])])
    page = await browser.newPage({ viewport: { width: 1440, height: 1000 }, colorScheme: 'light' })
    page.setDefaultTimeout(WAIT_LIMIT_MS)
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('request', (request) => hosts.add(new URL(request.url()).host))
    page.on('websocket', (socket) => hosts.add(new URL(socket.url()).host))
  })
  afterAll(async () => {
    await browser?.close()
    await Promise.all([hostile?.stop(), guest?.stop()])
    await net?.stop()
  })

  const rowOf = (peerId: string) => page.locator('.peers tbody tr', { has: page.locator(`[title="${peerId}"]`) })
  const sheet = () => page.locator('#peer')
  /** Presses a button of the open sheet, and confirms. */
  const act = async (label: string) => {
    await sheet().getByRole('button', { name: label, exact: true }).click()
    await page.locator('#ask').getByRole('button', { name: label, exact: true }).click()
    await page.locator('#toast.shown').waitFor()
  }
  const blocked = async (): Promise<unknown> => {
    const client = createPatientClient({ url: net.nodes[0]?.rollupRpc ?? '' })
    try {
      return await client.request('deviump2p_listBlockedPeers', [])
    } finally {
      await client.close()
    }
  }

  it('says that the node is healthy, and shows all nodes and their blocks', async () => {
    await page.goto(net.dashboard)
    await page
      .getByRole('heading', { level: 1, name: /^Sequencer is healthy\. It sealed block \d+ and gossips to / })
      .waitFor()
    expect(await page.locator('.node-name').allTextContents()).toEqual(net.nodes.map(({ name }) => name))
    await expect.poll(() => page.locator('.node .mark.good').count()).toBe(net.nodes.length)
    await page.locator('.blocks tbody tr').first().waitFor()
    await expect.poll(() => page.locator('.blocks tbody').textContent()).toMatch(/\+[\d.]+ m?s/)
    await expect.poll(() => page.locator('#batcher').textContent()).toMatch(/running/)
    await expect.poll(() => page.locator('.mesh .edge.mesh').count()).toBeGreaterThan(0)
  })

  it('says that every node is stopped while the sequencer is, and names the command that helps', async () => {
    const client = createPatientClient({ url: net.nodes[0]?.rollupRpc ?? '' })
    try {
      await client.request('admin_stopSequencer', [])
      await page.getByRole('heading', { level: 1, name: /^Sequencer is stopped\. An operator has stopped/ }).waitFor()
      expect(await page.locator('#command').textContent()).toBe('devium sequencer start')
      expect(await page.locator('.status').getAttribute('data-tone')).toBe('bad')
      await expect.poll(() => page.locator('.node .mark.bad').count()).toBe(net.nodes.length)
      await client.request('admin_startSequencer', [])
      await expect.poll(() => page.locator('.node .mark.good').count()).toBe(net.nodes.length)
      expect(await page.locator('#command').isHidden()).toBe(true)
    } finally {
      await client.close()
    }
  })

  it('shows the path of a block', async () => {
    const block = page.locator('.blocks [data-block]').nth(5)
    await block.click()
    await expect.poll(() => page.locator('.way li').count()).toBe(net.nodes.length)
    const [first, ...others] = await page.locator('.way li').allTextContents()
    expect(first).toMatch(/^sequencer had the block first, at /)
    for (const other of others) expect(other).toMatch(/ from \w+/)
    expect(await page.locator('svg.mesh .edge.way').count()).toBe(net.nodes.length - 1)
  })

  it('shows the header, batch and transactions of a block', async () => {
    const hash = await page.locator('.blocks [data-block]').last().getAttribute('data-block')
    await page.goto(`${net.dashboard}#block=${hash}`)
    await page.getByRole('button', { name: 'Header and transactions' }).click()
    const text = () => page.locator('#block-sheet').textContent()
    await expect
      .poll(text)
      .toMatch(/^Block \d+0x.*Derived fromL1 block \d+.*Posted by0x[0-9a-f]{64}.*1 transaction.*deposit/)
    await page.reload()
    await expect.poll(text).toContain(hash)
    await page.keyboard.press('Escape')
    await expect.poll(() => page.url()).toBe(`${net.dashboard}#block=${hash}`)
    await page.goto(net.dashboard)
  })

  it("shows a peer's own data as text", async () => {
    await hostile.connect(net.nodes[0]?.p2p ?? '')
    await guest.connect(net.nodes[0]?.p2p ?? '')
    await rowOf(hostile.peerId).waitFor()
    await expect.poll(() => rowOf(hostile.peerId).locator('[data-column="agent"]').textContent()).toBe(MARKUP)
    expect(await page.locator('main img, main b').count()).toBe(0)
  })

  it("shows a peer's bad score, its cause, and its ban", async () => {
    const topic = blocksTopic(BigInt(net.l2.chainId), 4)
    const isBanned = async () => {
      const [text, tone] = await Promise.all([
        rowOf(hostile.peerId).textContent(),
        rowOf(hostile.peerId).getAttribute('data-tone'),
      ])
      return tone === 'bad' && /banned, \d+ min left/.test(text ?? '')
    }
    let serial = 0
    await expect
      .poll(async () => {
        // Messages that are not blocks, each different. They are sent concurrently, because later messages are dropped unread.
        const publishing = Array.from({ length: 12 }, () => hostile.publish(topic, Buffer.from(`no block ${serial++}`)))
        await Promise.allSettled(publishing)
        return isBanned()
      })
      .toBe(true)
    await rowOf(hostile.peerId).getByRole('button').click()
    await expect.poll(() => sheet().textContent()).toMatch(/Banned for \d+ min more.*score −?-?\d+.* is below -100/)
    await expect.poll(() => sheet().textContent()).toMatch(/invalid messages.*Consequences.*Advice/)
    expect(await sheet().locator('.history .kind.ban').count()).toBeGreaterThan(0)
    expect(await sheet().locator('.score-bar rect.term.bad').count()).toBeGreaterThan(0)
    await takePictures(page, 'peer')
    await page.keyboard.press('Escape')
    await takePictures(page, 'dashboard')
  })

  it('shows the earlier ban and stop of the sequencer to a new reader', async () => {
    const later = await browser.newPage()
    await later.goto(net.dashboard)
    const events = () => later.locator('#events').textContent()
    await expect.poll(events).toMatch(/…\w{8} banned: score.*Sequencer is healthy.*Sequencer is stopped/)
    await later.getByRole('button', { name: 'Scores' }).click()
    await expect.poll(() => later.locator('.u-legend').textContent()).toMatch(/…\w{8}[-–\d]/)
    await later.close()
  })

  it('lets an operator unblock it and block another', async () => {
    await rowOf(hostile.peerId).getByRole('button').click()
    await act('Unblock')
    await sheet().getByRole('button', { name: 'Block', exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.locator('.peers tr[data-tone="bad"]').count()).toBe(0)
    await rowOf(guest.peerId).getByRole('button').click()
    await act('Block')
    await page.keyboard.press('Escape')
    await expect.poll(() => rowOf(guest.peerId).textContent()).toMatch(/blocked/)
    expect(await blocked()).toEqual([guest.peerId])
  })

  it('has an accessible name for each control, and Tab reaches all', async () => {
    const controls = await page.evaluate<Control[]>(CONTROLS)
    expect(controls.filter(({ name }) => name === '')).toEqual([])
    await page.evaluate('document.activeElement.blur()')
    const reached = new Set<string>()
    for (let step = 0; step < controls.length * 3; step++) {
      await page.keyboard.press('Tab')
      reached.add(await page.evaluate<string>(FOCUSED))
    }
    // New blocks arrive during the walk.
    const missed = controls.filter(({ key, isBlock }) => !isBlock && !reached.has(key))
    expect(missed).toEqual([])
  })

  it.each([390, 1440])('fits a width of %d in both themes', async (width) => {
    await page.setViewportSize({ width, height: 900 })
    for (const theme of ['dark', 'light']) {
      await page.locator('#theme').click()
      expect(await page.locator('html').getAttribute('data-theme')).toBe(theme)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    }
  })

  it('has written nothing to the console, and has connected only to the nodes', () => {
    expect(complaints).toEqual([])
    expect([...hosts].sort()).toEqual(net.nodes.map(({ rollupRpc }) => new URL(rollupRpc).host).sort())
  })

  it('says that the node has stopped', async () => {
    await net.stop()
    await page.getByRole('heading', { level: 1, name: /^Sequencer has not answered for / }).waitFor()
  })
})

/** Saves pictures in the folder DEVIUM_PICTURES, for developers of the page. */
async function takePictures(page: Page, name: string): Promise<void> {
  const { DEVIUM_PICTURES: folder } = process.env
  if (folder === undefined) return
  // Time for curves with some data.
  await page.waitForTimeout(15_000)
  if (name === 'dashboard') await page.locator('.blocks [data-block]').nth(4).click()
  for (const width of [1440, 390]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: width === 390 ? 844 : 1240 })
      await page.evaluate('scrollTo(0, 0)')
      // The chart adapts to its card in the next frame.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
      await page.screenshot({
        path: join(folder, `${name}-${width}-${colorScheme}.png`),
        fullPage: width === 390 && name === 'dashboard',
      })
    }
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1440, height: 1000 })
}

interface Control {
  name: string
  key: string
  isBlock: boolean
}

/** Run in the page: the identity of a control. */
const KEY = `(element) =>
  element.querySelector('.node-name')?.textContent || element.id || element.getAttribute('title') ||
  element.getAttribute('aria-label') || element.textContent`

/** Run in the page: the controls, with their accessible names. */
const CONTROLS = `[...document.querySelectorAll('a, button, input, select, [role=button]')]
  .filter((element) => element.checkVisibility() && !element.closest('dialog:not([open])'))
  .map((element) => ({
    name: (element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent).trim(),
    key: (${KEY})(element),
    isBlock: element.closest('.blocks tbody') !== null,
  }))`

const FOCUSED = `(${KEY})(document.activeElement)`
