/*
 * "now" is the server's: a browser whose clock differs would ask for a time that is not there yet, or
 * miss the newest profiles. The difference is read from the Date of answers, to the second.
 */
const NOTICED_MS = 3000;

let ahead = 0; // of the server's clock before this one

/** Told when it turns out that the clocks differ. */
export const corrected = new EventTarget();

export function noteDate(header: string | null, here = Date.now()): void {
	const there = header === null ? NaN : Date.parse(header);
	if (Number.isNaN(there)) return;
	const difference = there - here;
	if (Math.abs(difference - ahead) < NOTICED_MS) return;
	ahead = Math.abs(difference) < NOTICED_MS ? 0 : difference;
	corrected.dispatchEvent(new Event('corrected'));
}

export function serverNow(): number {
	return Date.now() + ahead;
}
