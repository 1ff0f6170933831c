/*
 * The clipboard, which browsers do not have on plain http of other machines: then the text is
 * shown, selected, to be copied by hand.
 */
import { say } from './notice';

export function useCopy(): (text: string, what: string) => void {
	return copyText;
}

export function copyText(text: string, what: string): void {
	const shown = () => say({ text: `Copy ${what} from here:`, copy: text });
	if (!navigator.clipboard) {
		shown();
		return;
	}
	navigator.clipboard.writeText(text).then(() => say({ text: `Copied ${what}.` }), shown);
}
