import { existsSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import { WAIT_LIMIT_MS } from '../../src/lib/testUtils/until.ts'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Path of Chromium on this machine; undefined if there is none. */
export function findChromium(): string | undefined {
  const { DEVIUM_CHROMIUM: named } = process.env
  return named ?? PLACES.find((path) => existsSync(path))
}

export async function startChromium(executablePath: string): Promise<Browser> {
  const { chromium } = await import('playwright-core')
  // Chromium's sandbox does not start as root, the user of tests in a container.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return chromium.launch({ executablePath, args, timeout: WAIT_LIMIT_MS })
}
